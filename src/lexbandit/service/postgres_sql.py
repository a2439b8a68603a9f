"""What is said to PostgreSQL: the tables of a log, by version, and the statements on them."""

from lexbandit.service.storage.base import LARGEST_PAGE

# Replicas that start at once create the tables one after the other; any number would do.
MIGRATING = 6_042_195_347

# The state of the schema is the number of these that were run. Replicas of the version before may
# still be at work, so each one only adds what they can ignore.
MIGRATIONS = (
    """
    CREATE TABLE lexbandit_schema (version integer NOT NULL);
    INSERT INTO lexbandit_schema VALUES (0);
    CREATE TABLE lexbandit_clock (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        seq bigint NOT NULL,
        time double precision NOT NULL
    ) WITH (fillfactor = 10);
    INSERT INTO lexbandit_clock (seq, time) VALUES (0, 0);
    CREATE TABLE lexbandit_log (
        seq bigint PRIMARY KEY,
        time double precision NOT NULL,
        point text NOT NULL,
        kind text NOT NULL,
        body bytea NOT NULL,
        checksum bigint NOT NULL
    );
    CREATE TABLE lexbandit_snapshots (
        point text NOT NULL,
        definition text NOT NULL,
        seq bigint NOT NULL,
        data bytea NOT NULL,
        sha256 bytea NOT NULL,
        PRIMARY KEY (point, definition, seq)
    );
    """,
)

# Not by to_regclass: it may remember that there was none while another replica made it.
EXISTS = """
SELECT count(*) FROM pg_class WHERE relname = 'lexbandit_schema' AND pg_table_is_visible(oid)
"""

# Both in one statement, so that no batch comes between them.
ENDS = """
SELECT seq, (SELECT coalesce(max(seq), 0) FROM lexbandit_log) FROM lexbandit_clock
"""

APPEND = """
WITH clock AS (
    UPDATE lexbandit_clock SET
        seq = seq + cardinality($1::text[]),
        time = greatest(time, extract(epoch FROM clock_timestamp())::double precision)
    RETURNING seq - cardinality($1::text[]) AS before, time
), appended AS (
    INSERT INTO lexbandit_log
    SELECT clock.before + batch.place, clock.time, point, kind, body, checksum
    FROM clock, unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) WITH ORDINALITY
        AS batch (point, kind, body, checksum, place)
)
SELECT before, time FROM clock
"""

# Events of another log with their places and times; $1 comes before the first, $2 is the last.
RESTORE = """
WITH clock AS (
    UPDATE lexbandit_clock SET seq = $2, time = $3 WHERE seq = $1 RETURNING seq
), restored AS (
    INSERT INTO lexbandit_log
    SELECT batch.* FROM clock, unnest(
        $4::bigint[], $5::double precision[], $6::text[], $7::text[], $8::bytea[], $9::bigint[]
    ) AS batch
)
SELECT seq FROM clock
"""

# `before` is how much of the page comes before an event.
READ = f"""
SELECT seq, time, point, kind, body, checksum FROM (
    SELECT *, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
    FROM (SELECT * FROM lexbandit_log WHERE seq > $1 ORDER BY seq LIMIT $2) AS page
) AS sized WHERE before < {LARGEST_PAGE} ORDER BY seq
"""

SAVE = """
INSERT INTO lexbandit_snapshots (point, definition, seq, data, sha256) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (point, definition, seq) DO UPDATE SET data = $4, sha256 = $5
"""

FORGET = """
DELETE FROM lexbandit_snapshots WHERE point = $1 AND definition = $2 AND seq < (
    SELECT seq FROM lexbandit_snapshots WHERE point = $1 AND definition = $2
    ORDER BY seq DESC OFFSET 1 LIMIT 1
)
"""

LOAD = """
SELECT seq, data, sha256 FROM lexbandit_snapshots
WHERE point = $1 AND definition = $2 AND ($3::bigint IS NULL OR seq < $3)
ORDER BY seq DESC LIMIT 1
"""

# Who is asking, where tables are made, and whether this user may make them and write to them.
CREATES = """
SELECT current_user, current_schema(),
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), true
"""
WRITES = """
SELECT current_user, current_schema(), true,
    has_table_privilege('lexbandit_log', 'INSERT')
    AND has_table_privilege('lexbandit_clock', 'UPDATE')
    AND has_table_privilege('lexbandit_snapshots', 'INSERT')
    AND has_table_privilege('lexbandit_snapshots', 'UPDATE')
    AND has_table_privilege('lexbandit_snapshots', 'DELETE')
"""
