/** A small graph of brokers with everything in which executors may differ, and with faults on demand. */
import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import { GraphQLError, type GraphQLSchema } from 'graphql';
import type { RequestContext } from '../../../src/gateway/context.ts';
import { GuardedSource } from '../../../src/gateway/graphql/guarded.ts';
import { Broadcast, type BroadcastEvent } from '../../../src/gateway/live/broadcast.ts';
import type { RightsGuard } from '../../../src/platform/auth/rights-guards.ts';
import type { Viewer } from '../../../src/platform/auth/viewer.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { IterableSource } from './live/iterable-source.ts';

interface BrokerRow {
  readonly kind: 'CloudBroker' | 'SelfHostedBroker' | 'OnPremiseSetup';
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly tags: readonly string[];
  readonly url: string | null;
  readonly state: 'active' | 'inactive';
}

const KINDS = ['CloudBroker', 'SelfHostedBroker', 'OnPremiseSetup'] as const;

const BROKERS: readonly BrokerRow[] = Array.from({ length: 9 }, (_, i) => ({
  kind: KINDS[i % 3] ?? 'CloudBroker',
  id: `brk_${i}`,
  name: `broker ${i} "ü"`,
  createdAt: new Date(1_700_000_000_000 + i * 1_000),
  tags: ['a', `t${i}`],
  url: i % 2 === 0 ? `mqtt://host${i}` : null,
  state: i % 2 === 0 ? 'active' : 'inactive',
}));

export interface Tick {
  readonly n: number;
}

export interface GraphParts {
  readonly ticks?: Broadcast<Tick, Tick>;
  /** Called for each event that a subscription of `counter` executes. */
  readonly onExecution?: (viewer: Viewer | null) => void;
  /** Guard of a subscriber of `counter`. Default: constant permissions. */
  readonly guard?: (viewer: Viewer | null) => RightsGuard;
}

interface CounterEvent {
  readonly event: BroadcastEvent<Tick, Tick>;
  readonly label: string;
}

const stateOf = (event: BroadcastEvent<Tick, Tick>): Tick | null =>
  event.kind === 'SNAPSHOT' ? event.snapshot : event.kind === 'CHANGE' ? event.change : null;

const FAULTS = ['SERVICE', 'BUG', 'STRING', 'GRAPHQL', 'NULL'] as const;

function fail(fault: (typeof FAULTS)[number]): null {
  if (fault === 'SERVICE')
    throw new ServiceError('BROKER_TIMEOUT', 'Silent', {
      info: { waitedMs: 5 },
    });
  if (fault === 'BUG') throw new Error('password=hunter2');
  if (fault === 'STRING') throw 'a string';
  if (fault === 'GRAPHQL') throw new GraphQLError('from a library', { extensions: { code: 'OTHER' } });
  return null;
}

const forever = (viewer: Viewer | null): RightsGuard => ({
  viewer: viewer as Viewer,
  signal: new AbortController().signal,
  stop: () => undefined,
});

async function* countTo(n: number, code: string): AsyncGenerator<Tick> {
  for (let i = 1; i <= n; i++) yield { n: i };
  if (code) throw new ServiceError(code as 'NOT_ALLOWED', 'Rights ended');
}

async function* countForever(context: RequestContext): AsyncGenerator<Tick> {
  const { onFlood } = context as RequestContext & { readonly onFlood?: (n: number) => void };
  for (let i = 0; ; i++) {
    onFlood?.(i);
    yield { n: i };
  }
}

export function createGraph({
  ticks = new Broadcast<Tick, Tick>(() => ({ n: 0 })),
  onExecution = () => undefined,
  guard = forever,
}: GraphParts = {}): GraphQLSchema {
  const builder = new SchemaBuilder<{
    Context: RequestContext;
    DefaultFieldNullability: false;
    Scalars: {
      DateTime: { Input: Date; Output: Date };
      JSON: { Input: unknown; Output: unknown };
    };
  }>({
    plugins: [ComplexityPlugin],
    defaultFieldNullability: false,
    complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
    // Types of plugins that the product loads and this graph does not.
    prisma: undefined as never,
    scopeAuth: undefined as never,
  });
  builder.scalarType('DateTime', {
    serialize: (date) => date.toISOString(),
    parseValue: (value) => {
      const date = new Date(String(value));
      if (Number.isNaN(date.getTime())) throw new GraphQLError('not a moment');
      return date;
    },
  });
  builder.scalarType('JSON', { serialize: (value) => value });
  const State = builder.enumType('State', {
    values: { ACTIVE: { value: 'active' }, INACTIVE: { value: 'inactive' } },
  });
  const Fault = builder.enumType('Fault', { values: FAULTS });
  const When = builder.enumType('When', { values: ['NOW', 'LATER'] as const });

  const Broker = builder.interfaceRef<BrokerRow>('Broker');
  Broker.implement({
    resolveType: ({ kind }) => kind,
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      tags: t.exposeStringList('tags'),
      state: t.expose('state', { type: State }),
      later: t.string({ resolve: async ({ name }) => name }),
      url: t.exposeString('url', { nullable: true }),
      // Null for every second entry, and not nullable.
      strictUrl: t.string({ resolve: ({ url }) => url as string }),
      fault: t.string({
        nullable: true,
        args: {
          kind: t.arg({ type: Fault, required: true }),
          when: t.arg({ type: When, required: true, defaultValue: 'NOW' }),
        },
        resolve: (_, { kind, when }) => (when === 'NOW' ? fail(kind) : Promise.resolve().then(() => fail(kind))),
      }),
      strictFault: t.string({
        args: {
          kind: t.arg({ type: Fault, required: true }),
          when: t.arg({ type: When, required: true, defaultValue: 'NOW' }),
        },
        resolve: (_, { kind, when }) =>
          (when === 'NOW' ? fail(kind) : Promise.resolve().then(() => fail(kind))) as never,
      }),
      brokers: t.field({
        type: [Broker],
        args: { first: t.arg.int({ defaultValue: 3 }) },
        resolve: (_, { first }) => BROKERS.slice(0, first ?? 1),
      }),
      parent: t.field({
        type: Broker,
        nullable: true,
        resolve: (row) => Promise.resolve(BROKERS[BROKERS.indexOf(row) - 1] ?? null),
      }),
    }),
  });
  for (const kind of KINDS) {
    builder.objectRef<BrokerRow>(kind).implement({
      interfaces: [Broker],
      fields: (t) => ({
        [`own${kind}`]: t.string({ resolve: ({ id }) => `${kind} ${id}` }),
      }),
    });
  }

  const Filter = builder.inputRef<{ tag: string }>('Filter');
  Filter.implement({
    fields: (t) => ({
      name: t.string(),
      since: t.field({ type: 'DateTime' }),
      states: t.field({ type: [State] }),
      limit: t.int({ defaultValue: 7 }),
      tag: t.string({ required: true }),
      more: t.field({ type: Filter }),
    }),
  });
  const WideScalars = builder.objectRef<object>('Wide').implement({
    fields: (t) => ({
      int: t.int({ nullable: true, resolve: () => 2 ** 40 }),
      strictInt: t.int({ resolve: () => 1.5 }),
      json: t.field({ type: 'JSON', resolve: () => ({ a: [1, null] }) }),
    }),
  });
  builder.queryType({
    fields: (t) => ({
      hello: t.string({
        args: { name: t.arg.string({ defaultValue: 'you' }) },
        resolve: (_, { name }) => `hello ${name}`,
      }),
      broker: t.field({
        type: Broker,
        nullable: true,
        args: { id: t.arg.id({ required: true }) },
        resolve: (_, { id }) => BROKERS.find((row) => row.id === String(id)) ?? null,
      }),
      brokers: t.field({
        type: [Broker],
        args: { first: t.arg.int({ required: true, defaultValue: 5 }) },
        complexity: ({ first }) => ({ field: 1, multiplier: first ?? 1 }),
        resolve: (_, { first }) => BROKERS.slice(0, first),
      }),
      laterBrokers: t.field({
        type: [Broker],
        nullable: { list: true, items: true },
        args: { bad: t.arg.int({ defaultValue: 1 }) },
        resolve: (_, { bad }) =>
          BROKERS.slice(0, 4).map(async (row, i) => {
            if (i !== bad) await new Promise(setImmediate);
            return i === bad ? (fail('SERVICE') as never) : row;
          }),
      }),
      untyped: t.field({
        type: Broker,
        nullable: true,
        resolve: async () => ({
          ...(BROKERS[0] as BrokerRow),
          kind: 'None' as never,
        }),
      }),
      generated: t.stringList({
        nullable: true,
        resolve: async () =>
          (function* () {
            yield 'one';
            throw new Error('iterator');
          })() as never,
      }),
      wide: t.field({ type: WideScalars, nullable: true, resolve: () => ({}) }),
      echo: t.field({
        type: 'JSON',
        nullable: true,
        args: {
          filter: t.arg({ type: Filter }),
          json: t.arg({ type: 'JSON' }),
          ids: t.arg.idList(),
          since: t.arg({ type: 'DateTime' }),
        },
        resolve: (_, args) => JSON.parse(JSON.stringify(args)),
      }),
      whoami: t.string({
        nullable: true,
        resolve: (_, _args, { viewer }) => viewer?.name ?? null,
      }),
    }),
  });
  builder.mutationType({
    fields: (t) => ({
      add: t.int({
        args: {
          n: t.arg.int({ required: true, defaultValue: 1 }),
          fault: t.arg({ type: Fault }),
        },
        nullable: true,
        resolve: async (_, { n, fault }, context) => {
          const counter = context as RequestContext & { total?: number };
          await new Promise(setImmediate);
          if (fault) fail(fault);
          counter.total = (counter.total ?? 0) + n;
          return counter.total;
        },
      }),
    }),
  });
  const TickType = builder.objectRef<Tick>('Tick').implement({
    fields: (t) => ({
      n: t.exposeInt('n'),
      padding: t.string({ resolve: () => 'x'.repeat(10_000) }),
    }),
  });
  const Kind = builder.enumType('CounterEventKind', { values: ['SNAPSHOT', 'CHANGE', 'GAP', 'RESUMED'] as const });
  const CounterEventType = builder.objectRef<CounterEvent>('CounterEvent').implement({
    fields: (t) => ({
      kind: t.field({ type: Kind, resolve: ({ event }) => event.kind }),
      sequence: t.float({ resolve: ({ event }) => event.sequence }),
      partsLeft: t.int({ resolve: ({ event }) => event.partsLeft }),
      n: t.int({ nullable: true, resolve: ({ event }) => stateOf(event)?.n ?? null }),
      missed: t.int({ nullable: true, resolve: ({ event }) => (event.kind === 'GAP' ? event.missed : null) }),
      label: t.exposeString('label'),
      padding: t.string({ resolve: () => 'x'.repeat(10_000) }),
      isRoot: t.boolean({ resolve: (_event, _args, { viewer }) => viewer?.isRootAdmin === true }),
      whoami: t.string({ resolve: (_event, _args, { viewer }) => viewer?.name ?? '' }),
      later: t.int({
        description: 'Takes the longer the smaller `n` is.',
        nullable: true,
        resolve: async ({ event }) => {
          const n = stateOf(event)?.n ?? 0;
          for (let turns = 20; turns > n; turns--) await new Promise(setImmediate);
          return n;
        },
      }),
      never: t.int({ nullable: true, resolve: () => new Promise<number>(() => undefined) }),
      bug: t.string({
        nullable: true,
        resolve: () => {
          throw new Error('password=hunter2');
        },
      }),
    }),
  });
  builder.subscriptionType({
    fields: (t) => ({
      counter: t.field({
        description: 'Like `ticks`, with everything that live events have.',
        type: CounterEventType,
        args: { after: t.arg.float(), label: t.arg.string({ required: true, defaultValue: '' }) },
        subscribe: (_root, { after }, { viewer }) => {
          const rights = guard(viewer);
          return new GuardedSource(ticks.subscribe({ after, signal: rights.signal }), rights);
        },
        resolve: (event, { label }, { viewer }) => {
          onExecution(viewer);
          return { event, label };
        },
      }),
      ticks: t.field({
        type: TickType,
        // Not a generator, whose `return` would wait for the next event.
        subscribe: () => ticks.subscribe(),
        resolve: (event) => stateOf(event) ?? { n: -1 },
      }),
      until: t.field({
        type: TickType,
        description: 'Counts to `n`, then fails.',
        args: {
          n: t.arg.int({ required: true }),
          code: t.arg.string({ required: true }),
        },
        subscribe: (_, { n, code }) => new IterableSource(countTo(n, code)),
        resolve: (tick) => tick as Tick,
      }),
      flood: t.field({
        type: TickType,
        subscribe: (_, _args, context) => new IterableSource(countForever(context)),
        resolve: (tick) => tick as Tick,
      }),
      refused: t.field({
        type: TickType,
        subscribe: () => {
          throw new ServiceError('NOT_ALLOWED', 'Not yours');
        },
        resolve: (tick) => tick as Tick,
      }),
    }),
  });
  return builder.toSchema();
}
