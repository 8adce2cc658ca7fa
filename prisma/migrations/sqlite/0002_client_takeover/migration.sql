-- AlterTable
ALTER TABLE "Broker" ADD COLUMN "clientTakeover" BOOLEAN NOT NULL DEFAULT false;
