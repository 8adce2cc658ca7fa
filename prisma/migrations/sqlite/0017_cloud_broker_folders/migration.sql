-- AlterTable
ALTER TABLE "Broker" ADD COLUMN "awaySince" DATETIME;
ALTER TABLE "Broker" ADD COLUMN "folderId" TEXT;
ALTER TABLE "Broker" ADD COLUMN "host" TEXT;
ALTER TABLE "Broker" ADD COLUMN "problem" TEXT;

-- AlterTable
ALTER TABLE "Process" ADD COLUMN "engines" TEXT NOT NULL DEFAULT '';
ALTER TABLE "Process" ADD COLUMN "folderId" TEXT;

-- CreateTable
CREATE TABLE "DeletedCloudBroker" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "folderId" TEXT NOT NULL
);

-- CreateIndex
CREATE INDEX "DeletedCloudBroker_folderId_idx" ON "DeletedCloudBroker"("folderId");

-- A trigger, because projects delete their brokers by a foreign key. A later migration that redefines "Broker" must
-- create it again.
CREATE TRIGGER "cloud_broker_deleted" AFTER DELETE ON "Broker" WHEN OLD."folderId" IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO "DeletedCloudBroker" ("id", "folderId") VALUES (OLD."id", OLD."folderId");
END;
