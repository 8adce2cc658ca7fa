-- Stored messages of streams. Not in prisma/schema.prisma, which describes the schema "public" only: see decision 0034.
CREATE SCHEMA "messages";

-- "width" is how long its partitions are, in seconds; 0: its messages do not expire. "id" is in epoch microseconds.
CREATE TABLE "messages"."stream_message" (
    "stream" TEXT NOT NULL,
    "width" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "qos" SMALLINT NOT NULL,
    "topic" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,

    CONSTRAINT "stream_message_pkey" PRIMARY KEY ("stream", "width", "id")
) PARTITION BY RANGE ("width", "id");

-- What is stored, so that it is known without reading the messages. A segment is part of one partition.
CREATE TABLE "messages"."stream_segment" (
    "broker" TEXT NOT NULL,
    "stream" TEXT NOT NULL,
    "base" BIGINT NOT NULL,
    "width" INTEGER NOT NULL,
    "messages" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "first" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,

    CONSTRAINT "stream_segment_pkey" PRIMARY KEY ("stream", "base")
);
CREATE INDEX "stream_segment_broker_idx" ON "messages"."stream_segment" ("broker");
CREATE INDEX "stream_segment_partition_idx" ON "messages"."stream_segment" ("width", "base");
