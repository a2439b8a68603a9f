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
    CREATE INDEX lexbandit_log_by_point ON lexbandit_log (point, seq);
    CREATE TABLE lexbandit_first_events (LIKE lexbandit_log INCLUDING ALL);
    CREATE TABLE lexbandit_removed (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        seq bigint NOT NULL
    );
    INSERT INTO lexbandit_removed (seq) VALUES (0);
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
SELECT clock.seq, coalesce(log.seq, removed.seq), clock.time = coalesce(log.time, 0),
    extract(epoch FROM clock_timestamp())::double precision - clock.time
FROM lexbandit_removed AS removed, lexbandit_clock AS clock
LEFT JOIN (SELECT seq, time FROM lexbandit_log ORDER BY seq DESC LIMIT 1) AS log ON true
"""

# Writes to the disk, and changes nothing.
PROBE = "UPDATE lexbandit_clock SET seq = seq"

# The client's checksum covers the content; place and time are known here only.
APPEND = """
WITH clock AS (
    UPDATE lexbandit_clock SET
        seq = seq + cardinality($1::text[]),
        time = greatest(time, extract(epoch FROM clock_timestamp())::double precision)
    RETURNING seq - cardinality($1::text[]) AS before, time
), appended AS (
    INSERT INTO lexbandit_log
    SELECT clock.before + batch.place, clock.time, point, kind, body,
        checksum # (clock.before + batch.place)
            # ('x' || encode(float8send(clock.time), 'hex'))::bit(64)::bigint
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

_PAGE = f"""
SELECT seq, time, point, kind, body, checksum, removed FROM (
    SELECT *, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
    FROM ({{page}}) AS page
) AS sized WHERE before < {LARGEST_PAGE} ORDER BY seq
"""

# `before` is how much of the page comes before an event. Each row ends with the last event that was
# removed: one statement sees one state of the log.
READ = _PAGE.format(
    page="""
    SELECT *, (SELECT seq FROM lexbandit_removed) AS removed FROM lexbandit_log
    WHERE seq > greatest($1, (SELECT seq FROM lexbandit_removed)) ORDER BY seq LIMIT $2
    """
)
READ_POINT = _PAGE.format(
    page="""
    SELECT *, 0 AS removed FROM lexbandit_log WHERE point = $3 AND seq > $1 ORDER BY seq LIMIT $2
    """
)

REMOVED = "SELECT seq FROM lexbandit_removed"
SIZE = """
SELECT pg_total_relation_size('lexbandit_log') + pg_total_relation_size('lexbandit_snapshots')
"""
FIRST_EVENTS = """
SELECT seq, time, point, kind, body, checksum FROM lexbandit_first_events ORDER BY seq
"""
# By the index, from each point to the next.
POINTS = """
WITH RECURSIVE points (name) AS (
    (SELECT point FROM lexbandit_log ORDER BY point LIMIT 1)
    UNION ALL
    SELECT (SELECT point FROM lexbandit_log WHERE point > name ORDER BY point LIMIT 1)
    FROM points WHERE name IS NOT NULL
) SELECT name FROM points WHERE name IS NOT NULL
"""
# At most $2 events, none after $1 and not the last one; those stay that say which arms a point has.
REMOVE = """
WITH clock AS (
    SELECT seq FROM lexbandit_clock
), mark AS (
    UPDATE lexbandit_removed AS mark
    SET seq = greatest(mark.seq, least($1, mark.seq + $2, clock.seq - 1))
    FROM clock RETURNING mark.seq
), gone AS (
    DELETE FROM lexbandit_log USING mark WHERE lexbandit_log.seq <= mark.seq
    RETURNING lexbandit_log.*
), kept AS (
    INSERT INTO lexbandit_first_events SELECT * FROM gone WHERE kind IN ('begin', 'arm')
)
SELECT seq FROM mark
"""
# For an empty log only.
BEGIN_AT = """
WITH clock AS (
    UPDATE lexbandit_clock SET seq = $1 WHERE seq = 0 RETURNING seq
), mark AS (
    UPDATE lexbandit_removed SET seq = $1 FROM clock
), kept AS (
    INSERT INTO lexbandit_first_events
    SELECT batch.* FROM clock, unnest(
        $2::bigint[], $3::double precision[], $4::text[], $5::text[], $6::bytea[], $7::bigint[]
    ) AS batch
)
SELECT seq FROM clock
"""
REWRITE = tuple(
    f"""
    UPDATE {table} SET body = batch.body, checksum = batch.checksum
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS batch (seq, body, checksum)
    WHERE {table}.seq = batch.seq
    """
    for table in ("lexbandit_log", "lexbandit_first_events")
)

SNAPSHOTS = "SELECT point, definition, seq FROM lexbandit_snapshots ORDER BY point, seq DESC"
REMOVE_SNAPSHOTS = "DELETE FROM lexbandit_snapshots WHERE point = $1 AND seq < $2"
DAMAGED_SNAPSHOT = """
SELECT point, seq FROM lexbandit_snapshots WHERE sha256(data) <> sha256 ORDER BY seq LIMIT 1
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
    AND has_table_privilege('lexbandit_removed', 'UPDATE')
    AND has_table_privilege('lexbandit_first_events', 'INSERT')
    AND has_table_privilege('lexbandit_log', 'DELETE')
    AND has_table_privilege('lexbandit_snapshots', 'INSERT')
    AND has_table_privilege('lexbandit_snapshots', 'UPDATE')
    AND has_table_privilege('lexbandit_snapshots', 'DELETE')
"""
