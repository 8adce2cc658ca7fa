-- AlterTable
ALTER TABLE "User" ADD COLUMN     "invitation" TEXT,
ADD COLUMN     "invitedUntil" TIMESTAMP(3),
ADD COLUMN     "needsTotp" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE UNIQUE INDEX "User_invitation_key" ON "User"("invitation");
