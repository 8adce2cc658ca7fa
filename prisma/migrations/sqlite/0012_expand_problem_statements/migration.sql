-- AlterTable
ALTER TABLE "Problem" ADD COLUMN "statements" TEXT;
