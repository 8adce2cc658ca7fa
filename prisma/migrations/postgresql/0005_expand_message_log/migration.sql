-- Logs of messages: see decision 0042. The tables "stream", "stream_batch" and "stream_segment" are read and emptied.

-- Who may change the logs of a broker. Each statement changes only what its owner has in the turn that it knows.
CREATE TABLE "messages"."log_owner" (
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "turn" BIGINT NOT NULL,

    CONSTRAINT "log_owner_pkey" PRIMARY KEY ("key")
);

-- A number for each log, because it is part of every row and of the index. "name" is null while a log is removed.
-- "last" is at least the id of each message that was deleted.
CREATE TABLE "messages"."log" (
    "number" INTEGER GENERATED ALWAYS AS IDENTITY,
    "name" TEXT,
    "broker" TEXT NOT NULL,
    "last" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "log_pkey" PRIMARY KEY ("number")
);
CREATE UNIQUE INDEX "log_name_key" ON "messages"."log" ("name");
CREATE INDEX "log_broker_idx" ON "messages"."log" ("broker");

-- "id" is in epoch microseconds. "width" is how long the partitions of the log are, in seconds; 0: its messages do not
-- expire.
CREATE TABLE "messages"."log_message" (
    "log" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "qos" SMALLINT NOT NULL,
    "topic" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,

    CONSTRAINT "log_message_pkey" PRIMARY KEY ("log", "id", "width")
) PARTITION BY RANGE ("width", "id");

-- What is stored of a log in one partition, so that it is known without reading the messages.
CREATE TABLE "messages"."log_part" (
    "log" INTEGER NOT NULL REFERENCES "messages"."log" ("number") ON DELETE CASCADE,
    "width" INTEGER NOT NULL,
    "start" BIGINT NOT NULL,
    "messages" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "first" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,

    CONSTRAINT "log_part_pkey" PRIMARY KEY ("log", "width", "start")
);
CREATE INDEX "log_part_partition_idx" ON "messages"."log_part" ("width", "start");
