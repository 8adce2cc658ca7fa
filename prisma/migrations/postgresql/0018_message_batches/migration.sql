-- Stored messages in rows of several, because each row costs the server as much as ten messages. See decision 0034.

-- Processes of an earlier version that still run store nothing more, and acknowledge nothing.
LOCK TABLE "messages"."stream_message" IN ACCESS EXCLUSIVE MODE;

-- The id of the last message ever stored: ids of later messages are higher, whichever process stores them.
ALTER TABLE "messages"."stream" ADD COLUMN "last" BIGINT NOT NULL DEFAULT 0;
UPDATE "messages"."stream" SET "last" = "segment"."last"
FROM (SELECT "stream", max("last") AS "last" FROM "messages"."stream_segment" GROUP BY "stream") AS "segment"
WHERE "segment"."stream" = "number";

-- Messages of one segment that arrived within a tenth of a second. "id" and "last" are the ids of the first and the
-- last, and "bytes" is the size of all payloads.
CREATE TABLE "messages"."stream_batch" (
    "stream" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "ids" BIGINT[] NOT NULL,
    "qos" SMALLINT[] NOT NULL,
    "topics" TEXT[] NOT NULL,
    "payloads" BYTEA[] NOT NULL,

    CONSTRAINT "stream_batch_pkey" PRIMARY KEY ("stream", "id", "width")
) PARTITION BY RANGE ("width", "id");

DO $$
DECLARE
    "old" TEXT;
    "new" TEXT;
BEGIN
    FOR "old" IN
        SELECT "relname" FROM "pg_inherits" JOIN "pg_class" ON "oid" = "inhrelid"
        WHERE "inhparent" = 'messages.stream_message'::regclass
    LOOP
        "new" := replace("old", 'stream_message', 'stream_batch');
        EXECUTE format(
            'CREATE TABLE messages.%I (LIKE messages.stream_batch INCLUDING ALL) WITH (toast_tuple_target = 8160)', "new"
        );
        -- With the last message hardly more than 8,000 bytes for each row.
        EXECUTE format('
            INSERT INTO messages.%I
            SELECT stream, width, min(id), max(id), sum(octet_length(payload)), array_agg(id ORDER BY id),
                array_agg(qos ORDER BY id), array_agg(topic ORDER BY id), array_agg(payload ORDER BY id)
            FROM (
                SELECT *, sum(octet_length(topic) + octet_length(payload) + 24)
                    OVER (PARTITION BY stream, segment, id / 100000 ORDER BY id) / 7000 AS nth
                FROM (
                    SELECT *, (
                        SELECT max(base) FROM messages.stream_segment AS segment
                        WHERE segment.stream = message.stream AND base <= id
                    ) AS segment
                    FROM messages.%I AS message
                ) AS counted
            ) AS divided
            GROUP BY stream, width, segment, id / 100000, nth', "new", "old");
        EXECUTE (
            SELECT format(
                'ALTER TABLE messages.stream_batch ATTACH PARTITION messages.%I %s',
                "new", pg_get_expr("relpartbound", "oid")
            )
            FROM "pg_class" WHERE "oid" = format('messages.%I', "old")::regclass
        );
        EXECUTE format('DROP TABLE messages.%I', "old");
    END LOOP;
END $$;

DROP TABLE "messages"."stream_message";
