-- Stored messages of streams. Not in prisma/schema.prisma, which describes the schema "public" only: see decision 0034.
CREATE SCHEMA "messages";

-- A number for each stream with stored messages, because it is part of every row and of the index.
CREATE TABLE "messages"."stream" (
    "number" INTEGER GENERATED ALWAYS AS IDENTITY,
    "id" TEXT NOT NULL,
    "broker" TEXT NOT NULL,

    CONSTRAINT "stream_pkey" PRIMARY KEY ("number")
);
CREATE UNIQUE INDEX "stream_id_key" ON "messages"."stream" ("id");
CREATE INDEX "stream_broker_idx" ON "messages"."stream" ("broker");

-- "width" is how long its partitions are, in seconds; 0: its messages do not expire. "id" is in epoch microseconds.
CREATE TABLE "messages"."stream_message" (
    "stream" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "qos" SMALLINT NOT NULL,
    "topic" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,

    CONSTRAINT "stream_message_pkey" PRIMARY KEY ("stream", "id", "width")
) PARTITION BY RANGE ("width", "id");

-- What is stored, so that it is known without reading the messages. A segment is part of one partition.
CREATE TABLE "messages"."stream_segment" (
    "stream" INTEGER NOT NULL REFERENCES "messages"."stream" ("number") ON DELETE CASCADE,
    "base" BIGINT NOT NULL,
    "width" INTEGER NOT NULL,
    "messages" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "first" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,

    CONSTRAINT "stream_segment_pkey" PRIMARY KEY ("stream", "base")
);
CREATE INDEX "stream_segment_partition_idx" ON "messages"."stream_segment" ("width", "base");
