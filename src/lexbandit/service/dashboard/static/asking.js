// Asking the service. What went wrong is an error with a `status`; 0 means that nobody answered.

export class Failed extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// So many milliseconds are waited for an answer: a viewer must soon know that what is shown is old.
const PATIENCE = 5000;

// Returns what was told and its tag, or null if it is still what had the tag `before`.
export async function askIfNew(url, before) {
  const response = await send(url, before ? { "If-None-Match": before } : {});
  if (response.status === 304) return null;
  return { told: parsed(await response.text()), tag: response.headers.get("ETag") };
}

// With a body the question is posted.
export async function ask(url, body, patience = PATIENCE) {
  return parsed(await (await send(url, body ? { "Content-Type": "application/json" } : {}, body, patience)).text());
}

// Objects have the names that were sent and no others: an arm may be called "constructor".
function parsed(text) {
  return JSON.parse(text, (_, one) => (one !== null && typeof one === "object" && !Array.isArray(one) ? Object.assign(Object.create(null), one) : one));
}

async function send(url, headers, body, patience = PATIENCE) {
  let response;
  try {
    response = await fetch(url, {
      method: body ? "POST" : "GET", body: body && JSON.stringify(body), headers: { Accept: "application/json", ...headers },
      cache: "no-store", signal: AbortSignal.timeout(patience),
    });
  } catch {
    throw new Failed(0, "The service does not answer.");
  }
  if (response.ok || response.status === 304) return response;
  const told = await response.json().catch(() => ({}));
  throw new Failed(response.status, told.detail ?? `The service answered with status ${response.status}.`);
}
