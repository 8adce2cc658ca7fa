import { useEffect, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/session.ts';
import { useTexts } from '../texts/texts.ts';
import { type BrokerResult, searchBrokers } from './broker-search.ts';
import { brokerAddress, contains, type Found, projectAddress } from './found.ts';
import { searchTexts } from './texts.ts';

const PLACES = graphql(`query SearchPlaces {
  projects(first: 100) { nodes { id name brokers(first: 100) { nodes { id name } } } }
}`);

const MIN_LENGTH = 2;
const TYPING_MS = 200;

interface Search {
  readonly found: readonly Found[];
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
export function useSearch(term: string): Search {
  const text = useTexts(searchTexts);
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
  const screens = [
    { name: text('fleet'), address: '/' },
    ...(isRootAdmin
      ? [
          { name: text('audit'), address: '/audit' },
          { name: text('people'), address: '/people' },
        ]
      : []),
    { name: text('ownAccount'), address: '/account' },
    { name: text('explorer'), address: '/explorer' },
  ];
  const places: Found[] = [
    ...screens.map((one) => ({ ...one, kind: 'screen' as const, of: null })),
    ...projects.map(({ id, name }) => ({ kind: 'project' as const, name, of: null, address: projectAddress(id) })),
    ...brokers.map(({ id, name, project }) => ({
      kind: 'broker' as const,
      name,
      of: project,
      address: brokerAddress(id),
    })),
  ];
  const missing = remote.results.map((result) => result.missing).filter((name) => name !== null);
  return {
    found: [...places.filter(({ name }) => contains(name, term)), ...remote.results.flatMap(({ found }) => found)],
    isBusy: (data === null && error === null) || remote.isBusy,
    error,
    numBrokers,
    numSearched: isLongEnough ? remote.results.length - missing.length : null,
    missing,
  };
}
