-- AlterTable
ALTER TABLE "Process" ADD COLUMN "builtAt" DATETIME;
ALTER TABLE "Process" ADD COLUMN "commit" TEXT;
