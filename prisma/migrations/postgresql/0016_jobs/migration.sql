-- CreateEnum
CREATE TYPE "JobKind" AS ENUM ('STREAM_REPLAY', 'RETAINED_DELETION');

-- CreateEnum
CREATE TYPE "JobState" AS ENUM ('RUNNING', 'PAUSED', 'DONE', 'STOPPED', 'FAILED');

-- CreateTable
CREATE TABLE "Job" (
    "id" TEXT NOT NULL,
    "kind" "JobKind" NOT NULL,
    "brokerId" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "runningKey" TEXT,
    "request" TEXT NOT NULL,
    "state" "JobState" NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "done" BIGINT NOT NULL DEFAULT 0,
    "total" BIGINT NOT NULL DEFAULT 0,
    "progress" TEXT,
    "problem" TEXT,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "Job_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "Job_runningKey_key" ON "Job"("runningKey");

-- CreateIndex
CREATE INDEX "Job_brokerId_id_idx" ON "Job"("brokerId", "id");

-- AddForeignKey
ALTER TABLE "Job" ADD CONSTRAINT "Job_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;
