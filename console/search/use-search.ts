import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { type BrokerResult, searchBrokers } from './broker-search.ts';
import { brokerAddress, contains, type Found, keyOf, ranked } from './found.ts';
import { foundIn, MORE_BROKERS, PLACES, type PlaceBroker, type Project, type Screens, usePlaces } from './places.ts';
import { recentOf } from './recent.ts';
import { useCommand, withActs } from './verbs.ts';

const PEOPLE = graphql(`query SearchPeople($first: Int!) { users(first: $first) { nodes { id name email } } }`);
/** Of the people of the service, the first are searched. */
const MAX_PEOPLE = 500;

const MIN_LENGTH = 2;
const TYPING_MS = 200;
/** With many brokers, the same for each would hide what was found. */
const MAX_LOOK_UPS = 5;
/** Results that are shown. */
const MAX_FOUND = 100;

interface Search {
  readonly found: readonly Found[];
  /** Pages of the text as a client id that no client has, once everything was searched. */
  readonly lookUps: readonly Found[];
  readonly isBusy: boolean;
  readonly error: RefusedError | null;
  /** Number of brokers of the viewer. */
  readonly numBrokers: number;
  /** Number of brokers that have responded; `null` if the text is too short to search them. */
  readonly numSearched: number | null;
  /** Names of the brokers that did not respond. */
  readonly missing: readonly string[];
}

interface Remote {
  readonly results: readonly BrokerResult[];
  readonly isBusy: boolean;
}

/** Screens, projects and brokers at once; what brokers have when they respond. Without a text, recent results first. */
export function useSearch(typed: string, screens: Screens): Search {
  const command = useCommand(typed);
  const { name: term } = command;
  const { isRootAdmin, email, name } = useViewer();
  const [address] = useLocation();
  const { projects, isRead, error } = useProjects();
  const [remote, setRemote] = useState<Remote>({ results: [], isBusy: false });
  const named = useRef(new Map<string, Promise<readonly Found[]>>());
  const brokers = projects.flatMap((project) => project.brokers);
  const numBrokers = brokers.length;
  const isLongEnough = term.length >= MIN_LENGTH;
  useEffect(() => {
    setRemote({ results: [], isBusy: isLongEnough && numBrokers > 0 });
    if (!isLongEnough || numBrokers === 0) return;
    const end = new AbortController();
    const add = (result: BrokerResult) => setRemote(({ results }) => ({ results: [...results, result], isBusy: true }));
    const isHere = ({ id }: PlaceBroker) => address.startsWith(brokerAddress(id));
    const run = async () => {
      const inOrder = [...brokers.filter(isHere), ...brokers.filter((broker) => !isHere(broker))];
      await searchBrokers(inOrder, term, { named: named.current, add, signal: end.signal });
      if (!end.signal.aborted) setRemote(({ results }) => ({ results, isBusy: false }));
    };
    const timer = setTimeout(() => void run(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [term, isLongEnough, numBrokers]);
  const places = usePlaces(projects, isRootAdmin, screens);
  const people = usePeople({ isWanted: isRootAdmin && isLongEnough, term });
  const placed = useMemo(() => foundIn(places, term), [places, term]);
  const found = useMemo(() => {
    const all = [...placed, ...people, ...remote.results.flatMap((result) => result.found)];
    if (term !== '') return withActs(ranked(all, term), command).slice(0, MAX_FOUND);
    const recent = recentOf(email ?? name);
    const keys = new Set(recent.map(keyOf));
    return [...recent, ...all.filter((one) => !keys.has(keyOf(one)))].slice(0, MAX_FOUND);
  }, [placed, people, remote, typed]);
  const missing = remote.results.map((result) => result.missing).filter((one) => one !== null);
  const isBusy = !isRead || remote.isBusy;
  const lookUps = remote.results.flatMap(({ lookUp }) => lookUp ?? []);
  return {
    found,
    lookUps: isBusy ? [] : lookUps.slice(0, MAX_LOOK_UPS),
    isBusy,
    error,
    numBrokers,
    numSearched: isLongEnough ? remote.results.length - missing.length : null,
    missing,
  };
}

interface Projects {
  readonly projects: readonly Project[];
  /** Whether they were read, or cannot be read. */
  readonly isRead: boolean;
  readonly error: RefusedError | null;
}

/** The projects of the viewer with all their brokers. */
function useProjects(): Projects {
  const { data, error } = useQuery(PLACES, {});
  const [more, setMore] = useState<ReadonlyMap<string, readonly PlaceBroker[]>>(new Map());
  useEffect(() => {
    for (const { id, brokers } of data?.projects.nodes ?? []) {
      if (brokers.totalCount === brokers.nodes.length) continue;
      void ask(MORE_BROKERS, { id }).then((read) =>
        setMore((before) => new Map(before).set(id, read.data?.project?.brokers.nodes ?? [])),
      );
    }
  }, [data]);
  const projects = useMemo(
    () =>
      (data?.projects.nodes ?? []).map(({ brokers, ...project }) => ({
        ...project,
        brokers: [...brokers.nodes, ...(more.get(project.id) ?? [])],
      })),
    [data, more],
  );
  return { projects, isRead: data !== null || error !== null, error };
}

/** People of the service, for root administrators. */
function usePeople({ isWanted, term }: { readonly isWanted: boolean; readonly term: string }): readonly Found[] {
  const [all, setAll] = useState<readonly Found[]>([]);
  useEffect(() => {
    if (!isWanted || all.length > 0) return;
    void ask(PEOPLE, { first: MAX_PEOPLE }).then(({ data }) => setAll((data?.users.nodes ?? []).map(personFound)));
  }, [isWanted]);
  return useMemo(
    () => (isWanted ? all.filter(({ name, of }) => contains(`${name} ${of}`, term)) : []),
    [all, isWanted, term],
  );
}

const personFound = ({ id, name, email: of }: { id: string; name: string; email: string }): Found => ({
  kind: 'person',
  name,
  of,
  address: `/people/${encodeURIComponent(id)}`,
});
