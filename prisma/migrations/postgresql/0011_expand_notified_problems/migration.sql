-- AlterTable
ALTER TABLE "NotificationDelivery" ADD COLUMN     "refusedSince" TIMESTAMP(3);

-- AlterTable
ALTER TABLE "ProblemChange" ADD COLUMN     "severity" TEXT;

-- CreateTable
CREATE TABLE "NotifiedProblem" (
    "problemId" TEXT NOT NULL,
    "channelId" TEXT NOT NULL,
    "severity" TEXT NOT NULL,

    CONSTRAINT "NotifiedProblem_pkey" PRIMARY KEY ("problemId","channelId")
);

-- CreateIndex
CREATE INDEX "NotifiedProblem_channelId_idx" ON "NotifiedProblem"("channelId");

-- AddForeignKey
ALTER TABLE "NotifiedProblem" ADD CONSTRAINT "NotifiedProblem_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel"("id") ON DELETE CASCADE ON UPDATE CASCADE;
