-- AlterTable
ALTER TABLE "Cluster" DROP COLUMN "seed";
