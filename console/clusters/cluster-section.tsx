import { useId, useState } from 'react';
import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { ClusterActions, type Open } from './cluster-actions.tsx';
import type { Cluster, ClusterNode } from './clusters-live.ts';
import type { FreeBroker } from './free-broker.ts';
import { NodeState } from './node-state.tsx';
import { clusterTexts } from './texts.ts';

interface ClusterSectionProps {
  readonly cluster: Cluster;
  readonly free: readonly FreeBroker[];
  readonly isLive: boolean;
  readonly onChange: () => void;
}

/** One cluster: its state, its nodes, and what can be done with them. */
export function ClusterSection({ cluster, free, isLive, onChange }: ClusterSectionProps) {
  const text = useTexts(clusterTexts);
  const heading = useId();
  const [open, setOpen] = useState<Open | null>(null);
  const { name, brokerId, mode, keeper, autoRepair, nodes, state, viewerCanUpdate, viewerCanDelete } = cluster;
  const columns: Column<ClusterNode>[] = [
    {
      key: 'node',
      title: text('nodeTitle'),
      cell: (node) => `${node.nodeId}: ${node.name}`,
    },
    {
      key: 'broker',
      title: text('broker'),
      cell: ({ broker }) => (broker ? <Link href={`/brokers/${broker.id}`}>{broker.name}</Link> : '–'),
      value: ({ broker }) => broker?.name,
    },
    { key: 'address', title: text('address'), cell: ({ address, port }) => `${address}:${port}` },
    {
      key: 'role',
      title: text('role'),
      cell: ({ isLeader, raft }) => (raft ? text(raft.state) : text(isLeader ? 'read' : 'follows')),
    },
    { key: 'lag', title: text('lag'), cell: ({ lag }) => lag ?? '–', isNumber: true },
    {
      key: 'state',
      title: text('state'),
      cell: (node) => <NodeState node={node} />,
      value: ({ isReachable, sync }) => (isReachable ? (sync?.state ?? 'REACHABLE') : 'UNREACHABLE'),
    },
  ];
  const actions: Column<ClusterNode> = {
    key: 'actions',
    title: text('actions'),
    cell: (node) => (
      <RowMenu name={node.name}>
        {node.sync?.state === 'DRIFTED' && (
          <button type="button" onClick={() => setOpen({ kind: 'repair', node })}>
            {text('repairOf', { node: node.name })}
          </button>
        )}
        <button type="button" className="danger" onClick={() => setOpen({ kind: 'leave', node })}>
          {text('leaveOf', { node: node.name })}
        </button>
      </RowMenu>
    ),
  };
  return (
    <section aria-labelledby={heading}>
      <header className="screen">
        <h2 id={heading}>
          <Link href={`/brokers/${brokerId}`}>{name}</Link>
        </h2>
        <span className={isLive ? `state cluster ${state}` : 'state stale'}>{text(state ?? 'unknown')}</span>
        <span className="quiet">{text(mode)}</span>
        <span className="quiet">{text(keeper === 'GATEWAY' ? 'keptHere' : 'keptThere')}</span>
      </header>
      <Table
        label={text('nodesOf', { name })}
        columns={viewerCanUpdate ? [...columns, actions] : columns}
        rows={nodes}
        keyOf={({ id }) => id}
        isStale={!isLive}
      />
      <p className="actions">
        {keeper === 'GATEWAY' && !viewerCanUpdate && text(autoRepair ? 'repairsItself' : 'repairsNothing')}
        {keeper === 'GATEWAY' && viewerCanUpdate && (
          <button type="button" aria-pressed={autoRepair} onClick={() => setOpen({ kind: 'autoRepair' })}>
            {text('autoRepair')}
          </button>
        )}
        {viewerCanUpdate && (
          <button type="button" onClick={() => setOpen({ kind: 'join' })}>
            {text('join')}
          </button>
        )}
        {viewerCanDelete && (
          <button type="button" className="danger" onClick={() => setOpen({ kind: 'delete' })}>
            {text('delete')}
          </button>
        )}
      </p>
      {open && (
        <ClusterActions
          cluster={cluster}
          free={free}
          open={open}
          onDone={() => {
            setOpen(null);
            onChange();
          }}
          onClose={() => setOpen(null)}
        />
      )}
    </section>
  );
}
