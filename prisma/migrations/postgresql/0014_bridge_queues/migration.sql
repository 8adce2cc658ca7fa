-- Queues of bridges: see decision 0035. Not in prisma/schema.prisma, which describes the schema "public" only.

-- "name" is a hash of the name in the bridge. Only its owner in its current turn changes the messages of a queue.
CREATE TABLE "messages"."bridge_queue" (
    "id" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
    "broker" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "turn" BIGINT NOT NULL,

    CONSTRAINT "bridge_queue_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "bridge_queue_broker_fkey" FOREIGN KEY ("broker") REFERENCES "public"."Broker" ("id") ON DELETE CASCADE
);
CREATE UNIQUE INDEX "bridge_queue_name_key" ON "messages"."bridge_queue" ("broker", "bridge", "name");

-- "topic" is UTF-8, which may contain what "text" refuses. "flags": the QoS, and 4 for a retained message.
CREATE TABLE "messages"."bridge_message" (
    "queue" BIGINT NOT NULL,
    "id" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "flags" SMALLINT NOT NULL,
    "received_at" BIGINT NOT NULL,
    "topic" BYTEA NOT NULL,
    "properties" BYTEA,
    "payload" BYTEA NOT NULL,

    CONSTRAINT "bridge_message_pkey" PRIMARY KEY ("queue", "id")
);

-- Instead of a foreign key of the messages, which would be checked for each message.
CREATE FUNCTION "messages"."delete_bridge_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM "messages"."bridge_message" WHERE "queue" = OLD."id";
    RETURN NULL;
END $$;
CREATE TRIGGER "bridge_queue_deleted" AFTER DELETE ON "messages"."bridge_queue"
    FOR EACH ROW EXECUTE FUNCTION "messages"."delete_bridge_messages"();
