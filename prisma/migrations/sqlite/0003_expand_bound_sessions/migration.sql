-- AlterTable
ALTER TABLE "Broker" ADD COLUMN "boundSessions" BOOLEAN NOT NULL DEFAULT false;
