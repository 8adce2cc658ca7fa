-- AlterTable
ALTER TABLE "Broker" ADD COLUMN "trustedUrl" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "BridgeConfig" ADD COLUMN "trustedAddresses" TEXT;

-- Brokers from before addresses were checked stay where they are.
UPDATE "Broker" SET "trustedUrl" = true WHERE "url" IS NOT NULL;
