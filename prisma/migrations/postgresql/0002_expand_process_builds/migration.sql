-- AlterTable
ALTER TABLE "Process" ADD COLUMN     "builtAt" TIMESTAMP(3),
ADD COLUMN     "commit" TEXT;
