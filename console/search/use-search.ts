import { useEffect, useState } from 'react';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { type BrokerResult, searchBrokers } from './broker-search.ts';
import { contains, type Found } from './found.ts';
import { foundIn, usePlaces } from './places.ts';
import { useCommand, withActs } from './verbs.ts';

const PLACES = graphql(`query SearchPlaces {
  projects(first: 100) {
    nodes { id name brokers(first: 100) { nodes { id name } } certificates(first: 20) { nodes { id filename } } }
  }
}`);
const PEOPLE = graphql(`query SearchPeople($first: Int!) { users(first: $first) { nodes { id name email } } }`);
/** Of the people of the service, the first are searched. */
const MAX_PEOPLE = 500;

const MIN_LENGTH = 2;
const TYPING_MS = 200;
/** With many brokers, the same for each would hide what was found. */
const MAX_LOOK_UPS = 5;

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

/** Screens, projects and brokers at once; what brokers have when they respond. */
export function useSearch(typed: string): Search {
  const command = useCommand(typed);
  const { name: term } = command;
  const { isRootAdmin } = useViewer();
  const { data, error } = useQuery(PLACES, {});
  const [remote, setRemote] = useState<Remote>({ results: [], isBusy: false });
  const projects = data?.projects.nodes ?? [];
  const brokers = projects.flatMap((project) =>
    project.brokers.nodes.map(({ id, name }) => ({ id, name, project: project.name })),
  );
  const numBrokers = brokers.length;
  const isLongEnough = term.length >= MIN_LENGTH;
  useEffect(() => {
    setRemote({ results: [], isBusy: isLongEnough && numBrokers > 0 });
    if (!isLongEnough || numBrokers === 0) return;
    const end = new AbortController();
    const add = (result: BrokerResult) => setRemote(({ results }) => ({ results: [...results, result], isBusy: true }));
    const run = async () => {
      await searchBrokers(brokers, term, add, end.signal);
      if (!end.signal.aborted) setRemote(({ results }) => ({ results, isBusy: false }));
    };
    const timer = setTimeout(() => void run(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [term, isLongEnough, numBrokers]);
  const places = usePlaces({ projects, isRootAdmin });
  const people = usePeople({ isWanted: isRootAdmin && isLongEnough, term });
  const missing = remote.results.map((result) => result.missing).filter((name) => name !== null);
  const isBusy = (data === null && error === null) || remote.isBusy;
  const lookUps = remote.results.flatMap(({ lookUp }) => lookUp ?? []);
  return {
    found: withActs(
      [...foundIn(places, term), ...people, ...remote.results.flatMap((result) => result.found)],
      command,
    ),
    lookUps: isBusy ? [] : lookUps.slice(0, MAX_LOOK_UPS),
    isBusy,
    error,
    numBrokers,
    numSearched: isLongEnough ? remote.results.length - missing.length : null,
    missing,
  };
}

/** People of the service, for root administrators. */
function usePeople({ isWanted, term }: { readonly isWanted: boolean; readonly term: string }): readonly Found[] {
  const [all, setAll] = useState<readonly Found[]>([]);
  useEffect(() => {
    if (!isWanted || all.length > 0) return;
    void ask(PEOPLE, { first: MAX_PEOPLE }).then(({ data }) => setAll((data?.users.nodes ?? []).map(personFound)));
  }, [isWanted]);
  return isWanted ? all.filter(({ name, of }) => contains(`${name} ${of}`, term)) : [];
}

const personFound = ({ id, name, email: of }: { id: string; name: string; email: string }): Found => ({
  kind: 'person',
  name,
  of,
  address: `/people/${encodeURIComponent(id)}`,
});
