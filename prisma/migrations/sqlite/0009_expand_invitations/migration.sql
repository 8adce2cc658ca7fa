-- AlterTable
ALTER TABLE "User" ADD COLUMN "invitation" TEXT;
ALTER TABLE "User" ADD COLUMN "invitedUntil" DATETIME;
ALTER TABLE "User" ADD COLUMN "needsTotp" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE UNIQUE INDEX "User_invitation_key" ON "User"("invitation");
