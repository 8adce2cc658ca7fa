-- DropForeignKey
ALTER TABLE "Problem" DROP CONSTRAINT "Problem_brokerId_fkey";

-- AlterTable
ALTER TABLE "Problem" ADD COLUMN     "brokerName" TEXT;
