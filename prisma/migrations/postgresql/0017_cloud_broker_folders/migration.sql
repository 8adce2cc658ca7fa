-- AlterTable
ALTER TABLE "Broker" ADD COLUMN     "awaySince" TIMESTAMP(3),
ADD COLUMN     "folderId" TEXT,
ADD COLUMN     "host" TEXT,
ADD COLUMN     "problem" TEXT;

-- AlterTable
ALTER TABLE "Process" ADD COLUMN     "engines" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "folderId" TEXT;

-- CreateTable
CREATE TABLE "DeletedCloudBroker" (
    "id" TEXT NOT NULL,
    "folderId" TEXT NOT NULL,

    CONSTRAINT "DeletedCloudBroker_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "DeletedCloudBroker_folderId_idx" ON "DeletedCloudBroker"("folderId");

-- A trigger, because projects delete their brokers by a foreign key.
CREATE FUNCTION "note_deleted_cloud_broker"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I."DeletedCloudBroker" ("id", "folderId") VALUES ($1, $2) ON CONFLICT DO NOTHING',
        TG_TABLE_SCHEMA) USING OLD."id", OLD."folderId";
    RETURN NULL;
END $$;
CREATE TRIGGER "cloud_broker_deleted" AFTER DELETE ON "Broker"
    FOR EACH ROW WHEN (OLD."folderId" IS NOT NULL) EXECUTE FUNCTION "note_deleted_cloud_broker"();
