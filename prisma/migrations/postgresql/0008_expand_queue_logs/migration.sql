-- Queues of bridges are logs: see decision 0045. The tables "bridge_queue" and "bridge_message" are read and emptied.

-- "broker" of an owner of queues is the broker of the bridge, and "broker" of their logs is the key of the owner.
ALTER TABLE "messages"."log_owner" ADD COLUMN "broker" TEXT;
ALTER TABLE "messages"."log_owner" ADD CONSTRAINT "log_owner_broker_fkey"
    FOREIGN KEY ("broker") REFERENCES "public"."Broker" ("id") ON DELETE CASCADE;
CREATE INDEX "log_owner_broker_idx" ON "messages"."log_owner" ("broker");

-- Instead of a foreign key of the messages, which would be checked for each message.
CREATE FUNCTION "messages"."delete_queue_logs"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM "messages"."log_message" WHERE "width" = 0
        AND "log" IN (SELECT "number" FROM "messages"."log" WHERE "broker" = OLD."key");
    DELETE FROM "messages"."log" WHERE "broker" = OLD."key";
    RETURN NULL;
END $$;
CREATE TRIGGER "queue_owner_deleted" AFTER DELETE ON "messages"."log_owner"
    FOR EACH ROW WHEN (OLD."broker" IS NOT NULL) EXECUTE FUNCTION "messages"."delete_queue_logs"();
