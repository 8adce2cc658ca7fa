-- CreateTable
CREATE TABLE "LoginFailure" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "account" TEXT,
    "count" INTEGER NOT NULL,
    "failedAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "LoginFailure_account_idx" ON "LoginFailure"("account");

-- CreateIndex
CREATE INDEX "LoginFailure_failedAt_idx" ON "LoginFailure"("failedAt");

-- CreateIndex
CREATE INDEX "LoginFailure_expiresAt_idx" ON "LoginFailure"("expiresAt");
