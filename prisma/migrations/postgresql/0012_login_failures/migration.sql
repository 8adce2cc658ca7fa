-- CreateTable
CREATE TABLE "LoginFailure" (
    "key" TEXT NOT NULL,
    "account" TEXT,
    "count" INTEGER NOT NULL,
    "failedAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "LoginFailure_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "LoginFailure_account_idx" ON "LoginFailure"("account");

-- CreateIndex
CREATE INDEX "LoginFailure_failedAt_idx" ON "LoginFailure"("failedAt");

-- CreateIndex
CREATE INDEX "LoginFailure_expiresAt_idx" ON "LoginFailure"("expiresAt");
