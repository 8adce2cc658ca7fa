-- AlterTable
ALTER TABLE "Project" ADD COLUMN     "problemThresholds" TEXT;

-- CreateTable
CREATE TABLE "Problem" (
    "id" TEXT NOT NULL,
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
    "openedAt" TIMESTAMP(3) NOT NULL,
    "closedAt" TIMESTAMP(3),
    "lastSeenAt" TIMESTAMP(3) NOT NULL,
    "count" INTEGER NOT NULL DEFAULT 1,
    "acknowledgedAt" TIMESTAMP(3),
    "acknowledgedBy" TEXT,
    "acknowledgedNote" TEXT,

    CONSTRAINT "Problem_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProblemChange" (
    "sequence" INTEGER NOT NULL,
    "problemId" TEXT NOT NULL,
    "change" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "ProblemChange_pkey" PRIMARY KEY ("sequence")
);

-- CreateTable
CREATE TABLE "ProblemCounter" (
    "id" INTEGER NOT NULL,
    "value" INTEGER NOT NULL,

    CONSTRAINT "ProblemCounter_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProblemSilence" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "until" TIMESTAMP(3) NOT NULL,
    "reason" TEXT NOT NULL,
    "filter" TEXT,
    "createdBy" TEXT NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ProblemSilence_pkey" PRIMARY KEY ("id")
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

-- AddForeignKey
ALTER TABLE "Problem" ADD CONSTRAINT "Problem_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Problem" ADD CONSTRAINT "Problem_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProblemChange" ADD CONSTRAINT "ProblemChange_problemId_fkey" FOREIGN KEY ("problemId") REFERENCES "Problem"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProblemSilence" ADD CONSTRAINT "ProblemSilence_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
