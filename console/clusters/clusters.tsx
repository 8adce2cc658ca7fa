import { Network } from 'lucide-react';
import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { NotAll } from '../ui/not-all.tsx';
import { Problem } from '../ui/problem.tsx';
import { ClusterSection } from './cluster-section.tsx';
import { apply, CLUSTER_STATUS } from './clusters-live.ts';
import { CreateCluster } from './create-cluster.tsx';
import './style.css';
import { clusterTexts } from './texts.ts';

const BROKERS = graphql(`query BrokersForClusters($id: ID!) {
  project(id: $id) {
    viewerCanCreateClusters
    brokers(first: 1000) { totalCount nodes { id name url isCluster cluster { id } } }
  }
}`);

const EVERY_MS = 10_000;

/** The clusters of a project with their nodes, live. */
export function Clusters() {
  const text = useTexts(clusterTexts);
  const { id } = useProject();
  const { data, error, renew } = useQuery(BROKERS, { id }, EVERY_MS);
  const { state, isLive } = useLive(CLUSTER_STATUS, { projectId: id }, ({ clusterStatus }) => clusterStatus, apply);
  const [isCreating, setCreating] = useState(false);
  if (state === null || !data?.project) return <Problem error={error} />;
  const { viewerCanCreateClusters, brokers } = data.project;
  const free = brokers.nodes.filter(({ isCluster, cluster }) => !isCluster && cluster === null);
  return (
    <>
      {viewerCanCreateClusters && (
        <p>
          <button type="button" onClick={() => setCreating(true)}>
            {text('createCluster')}
          </button>
        </p>
      )}
      {state.size === 0 && (
        <Empty icon={Network} title={text('noClusters')}>
          <CommandToCopy command="mosquitto_ctrl dynsec init /var/lib/mosquitto/dynamic-security.json admin" />
        </Empty>
      )}
      {[...state.values()].map((cluster) => (
        <ClusterSection key={cluster.id} cluster={cluster} free={free} isLive={isLive} onChange={renew} />
      ))}
      <NotAll shown={brokers.nodes.length} total={brokers.totalCount} />
      <CopyAs document={CLUSTER_STATUS} variables={{ projectId: id }} />
      {isCreating && (
        <CreateCluster
          projectId={id}
          free={free}
          onDone={() => {
            setCreating(false);
            renew();
          }}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}
