-- AlterTable
ALTER TABLE "Project" ADD COLUMN     "topicPayloads" BOOLEAN NOT NULL DEFAULT true;

-- CreateTable
CREATE TABLE "TopicTreeSettings" (
    "brokerId" TEXT NOT NULL,
    "settings" TEXT NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "TopicTreeSettings_pkey" PRIMARY KEY ("brokerId")
);

-- AddForeignKey
ALTER TABLE "TopicTreeSettings" ADD CONSTRAINT "TopicTreeSettings_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;
