-- AlterTable
ALTER TABLE "Project" ADD COLUMN "topicPayloads" BOOLEAN NOT NULL DEFAULT true;

-- CreateTable
CREATE TABLE "TopicTreeSettings" (
    "brokerId" TEXT NOT NULL PRIMARY KEY,
    "settings" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    CONSTRAINT "TopicTreeSettings_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
