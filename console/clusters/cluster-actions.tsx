import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { Cluster, ClusterNode } from './clusters-live.ts';
import type { FreeBroker } from './free-broker.ts';
import { JoinCluster } from './join-cluster.tsx';
import { clusterTexts } from './texts.ts';

const REPAIR = graphql(`mutation RepairNode($input: RepairClusterNodeInput!) {
  repairClusterNode(input: $input) { cluster { id } }
}`);
const LEAVE = graphql(`mutation LeaveCluster($input: LeaveClusterInput!) {
  leaveCluster(input: $input) { cluster { id } }
}`);
const UPDATE = graphql(`mutation UpdateCluster($input: UpdateClusterInput!) {
  updateCluster(input: $input) { cluster { id } }
}`);
const DELETE = graphql(`mutation DeleteCluster($input: DeleteClusterInput!) {
  deleteCluster(input: $input) { hasSucceeded nodes { nodeId isDone error { message } } }
}`);

export type Open =
  | { readonly kind: 'join' | 'delete' | 'autoRepair' }
  | { readonly kind: 'repair' | 'leave'; readonly node: ClusterNode };

interface ClusterActionsProps {
  readonly cluster: Cluster;
  readonly free: readonly FreeBroker[];
  readonly open: Open;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The dialogs of a cluster. Each says what changes at which node. */
export function ClusterActions({ cluster, free, open, onDone, onClose }: ClusterActionsProps) {
  const text = useTexts(clusterTexts);
  const notify = useNotices();
  const repair = useMutation(REPAIR);
  const leave = useMutation(LEAVE);
  const update = useMutation(UPDATE);
  const remove = useMutation(DELETE);
  const [isChosen, setChosen] = useState(false);
  const { id: clusterId, name, nodes, autoRepair } = cluster;
  const finish = (done: unknown) => {
    if (done === null) return;
    notify(text('done'));
    onDone();
  };
  const removeAll = async () => {
    const done = await remove.run({ input: { clusterId, name, purge: isChosen } });
    const missed = done?.deleteCluster.nodes.filter(({ isDone }) => !isDone) ?? [];
    if (missed.length > 0) {
      const nodes = missed.map(({ nodeId, error }) => (
        <span key={nodeId}>
          {' '}
          {nodeId} (<AsSent>{error?.message}</AsSent>)
        </span>
      ));
      notify([text('notReached'), ...nodes]);
    }
    finish(done);
  };
  const choice = (key: 'adopt' | 'purge') => (
    <label className="choice">
      <input type="checkbox" checked={isChosen} onChange={({ currentTarget: { checked } }) => setChosen(checked)} />
      <span>{text(key)}</span>
    </label>
  );
  if (open.kind === 'join') return <JoinCluster cluster={cluster} free={free} onDone={onDone} onClose={onClose} />;
  if (open.kind === 'repair') {
    const { nodeId, name: node, sync } = open.node;
    return (
      <Confirmation
        title={text('repairOf', { node })}
        action={text('repair')}
        isBusy={repair.isBusy}
        error={repair.error}
        onClose={onClose}
        onConfirm={() => void repair.run({ input: { clusterId, nodeId, adopt: isChosen } }).then(finish)}
      >
        <ul>
          {sync?.differences.map((difference) => (
            <li key={`${difference.kind} ${difference.name}`}>
              {text('difference', { kind: text(difference.kind), name: difference.name })}
            </li>
          ))}
        </ul>
        {choice('adopt')}
        <p>{text(isChosen ? 'adoptEffect' : 'repairEffect', { node })}</p>
        <p>{text('disconnects')}</p>
      </Confirmation>
    );
  }
  if (open.kind === 'leave') {
    const { nodeId, name: node } = open.node;
    return (
      <Confirmation
        title={text('leaveOf', { node })}
        action={text('leaveOf', { node })}
        isDestructive={true}
        isBusy={leave.isBusy}
        error={leave.error}
        onClose={onClose}
        onConfirm={() => void leave.run({ input: { clusterId, nodeId } }).then(finish)}
      >
        <p>{text('leaveEffect', { node, count: nodes.length - 1 })}</p>
      </Confirmation>
    );
  }
  if (open.kind === 'autoRepair') {
    return (
      <Confirmation
        title={text('autoRepair')}
        action={text(autoRepair ? 'turnOff' : 'turnOn')}
        isBusy={update.isBusy}
        error={update.error}
        onClose={onClose}
        onConfirm={() => void update.run({ input: { clusterId, autoRepair: !autoRepair } }).then(finish)}
      >
        <p>{text(autoRepair ? 'turnOffEffect' : 'turnOnEffect')}</p>
      </Confirmation>
    );
  }
  return (
    <Confirmation
      title={text('deleteOf', { name })}
      action={text('delete')}
      isDestructive={true}
      isBusy={remove.isBusy}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => void removeAll()}
    >
      <p>{text('deleteEffect', { nodes: nodes.map((node) => node.name).join(', ') })}</p>
      {choice('purge')}
    </Confirmation>
  );
}
