-- AlterTable
ALTER TABLE "Project" ADD COLUMN     "clusterPasswords" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "Cluster" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "mode" "ClusterMode" NOT NULL,
    "keeper" TEXT NOT NULL,
    "document" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "writing" TEXT,
    "autoRepair" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "Cluster_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ClusterNode" (
    "clusterId" TEXT NOT NULL,
    "nodeId" INTEGER NOT NULL,
    "brokerId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "revision" INTEGER,
    "missingPasswords" TEXT NOT NULL DEFAULT '[]',

    CONSTRAINT "ClusterNode_pkey" PRIMARY KEY ("clusterId","nodeId")
);

-- CreateTable
CREATE TABLE "ClusterPassword" (
    "clusterId" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "sealedPassword" TEXT,

    CONSTRAINT "ClusterPassword_pkey" PRIMARY KEY ("clusterId","username")
);

-- CreateIndex
CREATE UNIQUE INDEX "ClusterNode_brokerId_key" ON "ClusterNode"("brokerId");

-- AddForeignKey
ALTER TABLE "Cluster" ADD CONSTRAINT "Cluster_id_fkey" FOREIGN KEY ("id") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterNode" ADD CONSTRAINT "ClusterNode_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterNode" ADD CONSTRAINT "ClusterNode_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterPassword" ADD CONSTRAINT "ClusterPassword_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;
