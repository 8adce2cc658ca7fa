-- CreateTable
CREATE TABLE "KnownNetwork" (
    "account" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "signedInAt" DATETIME NOT NULL,

    PRIMARY KEY ("account", "network"),
    CONSTRAINT "KnownNetwork_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "KnownNetwork_userId_idx" ON "KnownNetwork"("userId");
