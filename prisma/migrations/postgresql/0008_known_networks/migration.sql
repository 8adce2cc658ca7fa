-- CreateTable
CREATE TABLE "KnownNetwork" (
    "account" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "signedInAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "KnownNetwork_pkey" PRIMARY KEY ("account","network")
);

-- CreateIndex
CREATE INDEX "KnownNetwork_userId_idx" ON "KnownNetwork"("userId");

-- AddForeignKey
ALTER TABLE "KnownNetwork" ADD CONSTRAINT "KnownNetwork_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;
