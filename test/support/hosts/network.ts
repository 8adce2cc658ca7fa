/**
 * A network of hosts on this machine: network namespaces, connected by a bridge. The test process is connected, too.
 * The packets between two hosts can be lost, refused or slow. Each test file has a private network of its own, so that
 * files can run at the same time. Everything is removed after the file, or by a later run if this one was killed.
 */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';

/** Names of namespaces and bridges, followed by the pid of their test process. */
const PREFIX = 'bgh';
const PREFIX_LENGTH = 24;
const DEVICE = 'eth0';

export interface Host {
  readonly name: string;
  readonly address: string;
  /** Starts a program in the host. It is killed with the network. */
  spawn(program: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  /** Adds a service address, and announces it to the other hosts as the manager of a virtual address does. */
  claim(address: string): void;
  giveUp(address: string): void;
  /** Limits what the host sends, so that packets wait. */
  limit(kilobitsPerSecond: number): void;
  unlimit(): void;
}

/** `LOST`: packets are dropped silently. `REFUSED`: the hosts' own firewall resets TCP connections. */
type Cut = 'LOST' | 'REFUSED';

export interface Network {
  host(name: string): Host;
  /** An address that belongs to no host until one claims it. */
  serviceAddress(): string;
  /** Cuts a host off from others, in both directions, also from their service addresses. */
  cut(host: Host, others: readonly Host[], cut?: Cut): void;
  healAll(): void;
}

interface TestNetwork {
  /** Why there can be no network; `null` if there can be one. */
  readonly unavailable: string | null;
  readonly network: Network;
}

/** Called at the top level of a test file. */
export function useNetwork(): TestNetwork {
  const unavailable = whyNot();
  let opened: OpenNetwork | null = null;
  if (unavailable !== null) console.warn(`Tests with several hosts are skipped: ${unavailable}`);
  beforeAll(() => {
    if (unavailable !== null) return;
    removeLeftOver();
    opened = new OpenNetwork();
  });
  afterAll(() => opened?.close());
  return {
    unavailable,
    get network() {
      if (opened === null) throw new Error('The network exists only during the tests of the file');
      return opened;
    },
  };
}

function whyNot(): string | null {
  if (process.getuid?.() !== 0) return 'only root may create network namespaces';
  for (const program of ['ip', 'tc', 'nft', 'arping', 'setpriv']) {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    } catch {
      return `${program} is not installed`;
    }
  }
  const probe = `${PREFIX}${process.pid}-probe`;
  try {
    ip('netns', 'add', probe);
    ip('netns', 'delete', probe);
    return null;
  } catch {
    return 'this system does not permit network namespaces';
  }
}

let lastNumber = 0;

class OpenNetwork implements Network {
  /** At most ten characters, because names of network devices have at most 15. */
  readonly #id = `${PREFIX}${process.pid.toString(36)}${(lastNumber++).toString(36)}`;
  readonly #name = `${PREFIX}${process.pid}-${lastNumber}`;
  readonly #subnet: string;
  readonly #hosts = new Map<string, NamespaceHost>();
  readonly #lost = new Set<string>();
  readonly #closeAtExit = () => this.close();
  #lastAddress = 1;

  constructor() {
    this.#subnet = unusedSubnet();
    ip('link', 'add', this.#id, 'type', 'bridge');
    ip('link', 'set', this.#id, 'alias', this.#name);
    process.once('exit', this.#closeAtExit);
    ip('address', 'add', `${this.#subnet}.1/${PREFIX_LENGTH}`, 'dev', this.#id);
    ip('link', 'set', this.#id, 'up');
  }

  host(name: string): Host {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    const port = `${this.#id}${this.#hosts.size.toString(36)}`;
    const host = new NamespaceHost(name, `${this.#name}-${name}`, port, this.serviceAddress());
    ip('netns', 'add', host.namespace);
    this.#hosts.set(name, host);
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', DEVICE, 'netns', host.namespace);
    ip('link', 'set', port, 'master', this.#id, 'up');
    host.open();
    return host;
  }

  serviceAddress(): string {
    this.#lastAddress += 1;
    return `${this.#subnet}.${this.#lastAddress}`;
  }

  cut(host: Host, others: readonly Host[], cut: Cut = 'LOST'): void {
    const one = this.#namespaceOf(host);
    for (const other of others.map((each) => this.#namespaceOf(each))) {
      if (cut === 'REFUSED') one.refuse(other);
      else {
        this.#lost.add(`iifname "${one.port}" oifname "${other.port}"`);
        this.#lost.add(`iifname "${other.port}" oifname "${one.port}"`);
      }
    }
    this.#writeRules();
  }

  healAll(): void {
    this.#lost.clear();
    this.#writeRules();
    for (const host of this.#hosts.values()) host.refuseNone();
  }

  close(): void {
    process.removeListener('exit', this.#closeAtExit);
    for (const { namespace } of this.#hosts.values()) removeNamespace(namespace);
    this.#hosts.clear();
    quietly('nft', 'delete', 'table', 'bridge', this.#id);
    quietly('ip', 'link', 'delete', this.#id);
  }

  /** On the bridge, so that a cut follows the hosts and not the service addresses. */
  #writeRules(): void {
    const rules = [...this.#lost].map((match) => `${match} drop`).join('\n');
    const table = `table bridge ${this.#id}`;
    const chain = `chain forward {\ntype filter hook forward priority 0;\n${rules}\n}`;
    nft(`${table} {}\ndelete ${table}\n${table} {\n${chain}\n}`);
  }

  #namespaceOf({ name }: Host): NamespaceHost {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`${name} is not a host of this network`);
    return host;
  }
}

class NamespaceHost implements Host {
  readonly name: string;
  readonly namespace: string;
  /** The device of the bridge that the host is connected to. */
  readonly port: string;
  readonly address: string;
  readonly #addresses = new Set<string>();

  constructor(name: string, namespace: string, port: string, address: string) {
    this.name = name;
    this.namespace = namespace;
    this.port = port;
    this.address = address;
  }

  open(): void {
    this.#ip('link', 'set', 'lo', 'up');
    this.#ip('link', 'set', DEVICE, 'up');
    this.#add(this.address);
  }

  spawn(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
    // `ip netns exec` replaces itself with the program, so the pid of the child is that of the program.
    return spawn('ip', ['netns', 'exec', this.namespace, program, ...args], options);
  }

  claim(address: string): void {
    this.#add(address);
    this.#run('arping', '-q', '-U', '-c', '1', '-I', DEVICE, address);
  }

  giveUp(address: string): void {
    this.#addresses.delete(address);
    this.#ip('address', 'delete', `${address}/${PREFIX_LENGTH}`, 'dev', DEVICE);
  }

  limit(kilobitsPerSecond: number): void {
    const rate = ['rate', `${kilobitsPerSecond}kbit`, 'burst', '2kb', 'limit', '10mb'];
    this.#run('tc', 'qdisc', 'replace', 'dev', DEVICE, 'root', 'tbf', ...rate);
  }

  unlimit(): void {
    this.#run('tc', 'qdisc', 'delete', 'dev', DEVICE, 'root');
  }

  refuse(other: NamespaceHost): void {
    const addresses = `{ ${[...other.#addresses].join(', ')} }`;
    const reset = 'meta l4proto tcp reject with tcp reset';
    this.#run(
      'nft',
      `table ip cut {
      chain input { type filter hook input priority 0; ip saddr ${addresses} ${reset}; }
      chain output { type filter hook output priority 0; ip daddr ${addresses} ${reset}; }
    }`,
    );
  }

  refuseNone(): void {
    this.#run('nft', 'table ip cut {}; delete table ip cut');
  }

  #add(address: string): void {
    this.#addresses.add(address);
    this.#ip('address', 'replace', `${address}/${PREFIX_LENGTH}`, 'dev', DEVICE);
  }

  #ip(...args: string[]): string {
    return this.#run('ip', ...args);
  }

  #run(program: string, ...args: string[]): string {
    return ip('netns', 'exec', this.namespace, program, ...args);
  }
}

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' });

const nft = (rules: string): void => void execFileSync('nft', ['-f', '-'], { input: rules, stdio: 'pipe' });

function quietly(program: string, ...args: string[]): void {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {
    // It did not exist.
  }
}

/** Random, so that files and runs that start at the same time choose different ones. */
function unusedSubnet(): string {
  for (;;) {
    const number = Math.floor(Math.random() * 64 * 256);
    const subnet = `10.${64 + Math.floor(number / 256)}.${number % 256}`;
    if (ip('route', 'show', 'root', `${subnet}.0/${PREFIX_LENGTH}`) === '') return subnet;
  }
}

/** Kills the processes of the namespace first: it exists as long as one of them does. */
function removeNamespace(namespace: string): void {
  try {
    for (const pid of ip('netns', 'pids', namespace).split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
  } catch {
    // The last process has exited since.
  }
  quietly('ip', 'netns', 'delete', namespace);
}

/** Removes the networks of test processes that exist no more. */
function removeLeftOver(): void {
  const isLeftOver = (name: string) => {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? [];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  };
  for (const line of ip('netns', 'list').split('\n')) {
    const [namespace = ''] = line.split(' ');
    if (isLeftOver(namespace)) removeNamespace(namespace);
  }
  const bridges = JSON.parse(ip('-json', 'link', 'show', 'type', 'bridge')) as { ifname: string; ifalias?: string }[];
  for (const { ifname, ifalias = '' } of bridges) {
    if (!isLeftOver(ifalias)) continue;
    quietly('nft', 'delete', 'table', 'bridge', ifname);
    quietly('ip', 'link', 'delete', ifname);
  }
}
