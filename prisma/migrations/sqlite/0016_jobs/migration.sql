-- CreateTable
CREATE TABLE "Job" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "runningKey" TEXT,
    "request" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "done" BIGINT NOT NULL DEFAULT 0,
    "total" BIGINT NOT NULL DEFAULT 0,
    "progress" TEXT,
    "problem" TEXT,
    "startedAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "endedAt" DATETIME,
    CONSTRAINT "Job_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE UNIQUE INDEX "Job_runningKey_key" ON "Job"("runningKey");

-- CreateIndex
CREATE INDEX "Job_brokerId_id_idx" ON "Job"("brokerId", "id");
