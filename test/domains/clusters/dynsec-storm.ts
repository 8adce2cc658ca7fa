import { expect } from 'vitest';
import { documentOf } from '../../../src/domains/access-control/documents/access-document.ts';
import type { AccessChange } from '../../../src/domains/access-control/writing/access-change.ts';
import { AccessPlanner } from '../../../src/domains/access-control/writing/access-planner.ts';
import type { WriteReport } from '../../../src/domains/access-control/writing/access-report.ts';
import type { DynsecWrite } from '../../../src/domains/access-control/writing/dynsec-writes.ts';
import { PolicyDraft } from '../../../src/domains/access-control/writing/policy-draft.ts';
import type { ClusterRecord } from '../../../src/domains/clusters/model/cluster.ts';
import type { Viewer } from '../../../src/platform/auth/viewer.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { runSync } from '../../../src/platform/scheduling/sliced-task.ts';
import { ADMIN } from '../../support/mosquitto.ts';
import { Dice } from '../access-control/policy/random-policies.ts';
import { randomChanges } from '../access-control/writing/random-changes.ts';
import { accessOf, type ClusterWorldNode, clusterWorld } from './cluster-world.ts';
import { documentOn, hasPassword } from './dynsec-files.ts';

const ANYBODY: Viewer = {
  kind: 'OPERATOR',
  id: 'test',
  name: 'test',
  credentialId: 'test',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
};

interface StormOptions {
  readonly seed: number;
  readonly writes: number;
  /** Number of writes after which all nodes are started and compared. */
  readonly quietAfter: number;
  /** Whether passwords are stored for nodes that are away. */
  readonly keeps: boolean;
}

/** Number of occurrences of each event. */
interface StormTally {
  applied: number;
  unknown: number;
  behind: number;
  unreachable: number;
  stops: number;
  listed: number;
}

/**
 * Runs random writes on a cluster of three Mosquittos that stop and start at random. Each report is compared with the
 * files of the brokers, and with a model of a single broker.
 */
export async function storm({ seed, writes, quietAfter, keeps }: StormOptions): Promise<StormTally> {
  const dice = new Dice(seed);
  const { service, nodes, entryId, graph } = await clusterWorld();
  const { accessControl, clusters, brokers } = service.services;
  const settings = { projectId: service.projectId, storesClusterPasswords: keeps };
  await graph('mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }', {
    input: settings,
  });
  const entry = brokers.visible(entryId, ANYBODY);
  const cluster = (): ClusterRecord => clusters.visible(entryId, ANYBODY);
  const broker = new Switches(nodes, dice);
  const tally: StormTally = { applied: 0, unknown: 0, behind: 0, unreachable: 0, stops: 0, listed: 0 };
  const { policy, dialect } = (await accessControl.view(entry)).snapshot;
  const model = new PolicyDraft(policy);
  const passwords = new Map<string, string | null>();
  /** By node: accounts whose password is unknown. */
  const doubtful = new Map(nodes.map(({ nodeId }) => [nodeId, new Set<string>()]));
  let count = 0;

  const write = async () => {
    const changes = withPasswords(randomChanges(dice, model, 1 + dice.below(3)), () => {
      count += 1;
      return `password ${count}`;
    });
    const foreseen = planned(model, dialect, changes);
    const disturbance = broker.disturb();
    let report: WriteReport;
    try {
      report = await accessControl.write(entry, { changes, mayControl: true }, false);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      expect(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT'], `seed ${seed}: ${error.message}`).toContain(error.code);
      tally.unreachable += 1;
      return;
    } finally {
      await disturbance;
    }
    for (const [index, { outcome, commands }] of report.changes.entries()) {
      if (outcome === 'APPLIED') tally.applied += 1;
      if (outcome === 'UNKNOWN') tally.unknown += 1;
      for (const { command, fields, state } of commands) {
        if (state !== 'APPLIED') continue;
        model.run({ command, fields } as DynsecWrite);
        notePassword(passwords, { command, username: fields.username }, changes[index]);
      }
    }
    const isWhole = report.changes.every(
      ({ outcome, commands }) => outcome !== 'UNKNOWN' && commands.every(({ state }) => state === 'APPLIED'),
    );
    if (isWhole) expect(report.changes.map(({ outcome }) => outcome)).toEqual(foreseen);
    expect(report.nodes?.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
    const concerned = changes.flatMap((change) => ('username' in change ? [change.username] : []));
    for (const { nodeId, outcome, error } of report.nodes ?? []) {
      const node = nodes[nodeId - 1] as ClusterWorldNode;
      if (error !== null) {
        tally.behind += 1;
        for (const username of concerned) doubtful.get(nodeId)?.add(username);
      } else if (isWhole && outcome !== 'REJECTED') {
        for (const username of concerned) doubtful.get(nodeId)?.delete(username);
        // A confirmed change is in the file and stays there.
        expect(documentOn(node), `seed ${seed}, node ${nodeId} ${outcome}`).toEqual(runSync(documentOf(model)));
      }
    }
    const { nodes: now } = await clusters.status(cluster());
    expect(now.map(({ sync }) => sync?.state)).not.toContain('DRIFTED');
  };

  const quiet = async () => {
    await broker.allOn();
    const isEqual = async () => {
      const status = await clusters.status(cluster());
      return status.nodes.map(({ isReachable, sync }) => (isReachable ? sync?.state : 'AWAY'));
    };
    await expect.poll(isEqual, { message: `seed ${seed}` }).toEqual(['EQUAL', 'EQUAL', 'EQUAL']);
    const [first, ...others] = nodes.map(accessOf);
    for (const other of others) expect(other, `seed ${seed}`).toEqual(first);
    expect(documentOn(nodes[0] as ClusterWorldNode), `seed ${seed}`).toEqual(runSync(documentOf(model)));
    const status = await clusters.status(cluster());
    for (const { nodeId, sync } of status.nodes) {
      const node = nodes[nodeId - 1] as ClusterWorldNode;
      const told = new Set(sync?.missingPasswords);
      for (const username of model.clients.keys()) {
        const password = passwords.get(username);
        if (password === undefined || username === ADMIN.username) continue;
        const isThere = hasPassword(node, username, password);
        const where = `seed ${seed}: "${username}" on node ${nodeId}`;
        if (keeps) expect({ isThere, isTold: told.has(username) }, where).toEqual({ isThere: true, isTold: false });
        else if (!doubtful.get(nodeId)?.has(username)) expect(isThere, where).toBe(!told.has(username));
        else if (!isThere) expect(told.has(username), where).toBe(true);
      }
      tally.listed += told.size;
    }
  };

  for (let number = 1; number <= writes; number += 1) {
    await write();
    if (number % quietAfter === 0 || number === writes) await quiet();
  }
  // In addition to the files: clients can connect with their password unless it is listed as missing.
  const { nodes: end } = await clusters.status(cluster());
  for (const [username, { disabled, clientId }] of model.clients) {
    const password = passwords.get(username);
    if (typeof password !== 'string' || disabled || clientId !== null) continue;
    for (const { nodeId, sync } of end) {
      if (sync?.missingPasswords.includes(username)) continue;
      await (nodes[nodeId - 1] as ClusterWorldNode).broker.client({ username, password });
    }
  }
  return { ...tally, stops: broker.stops };
}

function withPasswords(changes: readonly AccessChange[], next: () => string): AccessChange[] {
  return changes.map((change) =>
    change.kind === 'PUT_CLIENT' && change.fields.password !== undefined
      ? { ...change, fields: { ...change.fields, password: next() } }
      : change,
  );
}

/** Result of changes on one broker with this policy. */
function planned(
  model: PolicyDraft,
  dialect: ConstructorParameters<typeof AccessPlanner>[1],
  changes: readonly AccessChange[],
) {
  const planner = new AccessPlanner(model, dialect, ADMIN.username);
  return changes.map((change) => {
    const { commands, error } = planner.next(change, true);
    return error ? 'REJECTED' : commands.length === 0 ? 'UNCHANGED' : 'APPLIED';
  });
}

function notePassword(
  passwords: Map<string, string | null>,
  { command, username }: { readonly command: string; readonly username: unknown },
  change: AccessChange | undefined,
): void {
  const password = change?.kind === 'PUT_CLIENT' ? change.fields.password : undefined;
  if (typeof username !== 'string') return;
  if (command === 'deleteClient') passwords.delete(username);
  else if (command === 'createClient') passwords.set(username, password ?? null);
  else if (password !== undefined && (command === 'modifyClient' || command === 'setClientPassword')) {
    passwords.set(username, password);
  }
}

/** Stops and starts brokers. They are never killed, because Mosquitto 2.0 writes its file in place. */
class Switches {
  readonly #nodes: readonly ClusterWorldNode[];
  readonly #dice: Dice;
  readonly #off = new Set<ClusterWorldNode>();
  stops = 0;

  constructor(nodes: readonly ClusterWorldNode[], dice: Dice) {
    this.#nodes = nodes;
    this.#dice = dice;
  }

  /** Sometimes stops or starts a broker during a write. Usually it restarts immediately. */
  async disturb(): Promise<void> {
    const dice = this.#dice;
    const node = dice.pick(this.#nodes);
    const laterMs = dice.below(25);
    const isBackAtOnce = dice.chance(60);
    if (this.#off.has(node)) {
      if (dice.chance(50)) await this.#on(node);
      return;
    }
    if (!dice.chance(25)) return;
    await new Promise((resolve) => setTimeout(resolve, laterMs));
    this.stops += 1;
    this.#off.add(node);
    await node.broker.stop();
    if (isBackAtOnce) await this.#on(node);
  }

  async allOn(): Promise<void> {
    await Promise.all([...this.#off].map((node) => this.#on(node)));
  }

  async #on(node: ClusterWorldNode): Promise<void> {
    await node.broker.start();
    this.#off.delete(node);
  }
}
