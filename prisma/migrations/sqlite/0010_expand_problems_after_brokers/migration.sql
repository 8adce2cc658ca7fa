-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_Problem" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "projectId" TEXT,
    "brokerId" TEXT,
    "brokerName" TEXT,
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
    CONSTRAINT "Problem_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "new_Problem" ("acknowledgedAt", "acknowledgedBy", "acknowledgedNote", "brokerId", "closedAt", "count", "detail", "id", "key", "kind", "lastSeenAt", "openKey", "openedAt", "projectId", "severity", "subjectId", "subjectName", "whatWouldHelp") SELECT "acknowledgedAt", "acknowledgedBy", "acknowledgedNote", "brokerId", "closedAt", "count", "detail", "id", "key", "kind", "lastSeenAt", "openKey", "openedAt", "projectId", "severity", "subjectId", "subjectName", "whatWouldHelp" FROM "Problem";
DROP TABLE "Problem";
ALTER TABLE "new_Problem" RENAME TO "Problem";
CREATE UNIQUE INDEX "Problem_openKey_key" ON "Problem"("openKey");
CREATE INDEX "Problem_projectId_idx" ON "Problem"("projectId");
CREATE INDEX "Problem_brokerId_idx" ON "Problem"("brokerId");
CREATE INDEX "Problem_closedAt_idx" ON "Problem"("closedAt");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
