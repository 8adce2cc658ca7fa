-- AlterTable
ALTER TABLE "NotificationDelivery" ADD COLUMN "refusedSince" DATETIME;

-- AlterTable
ALTER TABLE "ProblemChange" ADD COLUMN "severity" TEXT;

-- CreateTable
CREATE TABLE "NotifiedProblem" (
    "problemId" TEXT NOT NULL,
    "channelId" TEXT NOT NULL,
    "severity" TEXT NOT NULL,

    PRIMARY KEY ("problemId", "channelId"),
    CONSTRAINT "NotifiedProblem_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "NotifiedProblem_channelId_idx" ON "NotifiedProblem"("channelId");
