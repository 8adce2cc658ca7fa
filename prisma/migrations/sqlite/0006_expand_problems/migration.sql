-- AlterTable
ALTER TABLE "Project" ADD COLUMN "problemThresholds" TEXT;

-- CreateTable
CREATE TABLE "Problem" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "projectId" TEXT,
    "brokerId" TEXT,
    "subjectId" TEXT,
    "subjectName" TEXT NOT NULL,
    "detail" TEXT NOT NULL,
    "whatWouldHelp" TEXT,
    "key" TEXT NOT NULL,
    "openKey" TEXT,
    "openedAt" DATETIME NOT NULL,
    "closedAt" DATETIME,
    "lastSeenAt" DATETIME NOT NULL,
    "count" INTEGER NOT NULL DEFAULT 1,
    "acknowledgedAt" DATETIME,
    "acknowledgedBy" TEXT,
    "acknowledgedNote" TEXT,
    CONSTRAINT "Problem_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "Problem_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ProblemChange" (
    "sequence" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "problemId" TEXT NOT NULL,
    "change" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    CONSTRAINT "ProblemChange_problemId_fkey" FOREIGN KEY ("problemId") REFERENCES "Problem" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ProblemCounter" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "value" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "ProblemSilence" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT NOT NULL,
    "until" DATETIME NOT NULL,
    "reason" TEXT NOT NULL,
    "filter" TEXT,
    "createdBy" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "ProblemSilence_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE UNIQUE INDEX "Problem_openKey_key" ON "Problem"("openKey");

-- CreateIndex
CREATE INDEX "Problem_projectId_idx" ON "Problem"("projectId");

-- CreateIndex
CREATE INDEX "Problem_brokerId_idx" ON "Problem"("brokerId");

-- CreateIndex
CREATE INDEX "Problem_closedAt_idx" ON "Problem"("closedAt");

-- CreateIndex
CREATE INDEX "ProblemChange_problemId_idx" ON "ProblemChange"("problemId");

-- CreateIndex
CREATE INDEX "ProblemSilence_projectId_idx" ON "ProblemSilence"("projectId");
