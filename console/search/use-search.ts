import { useEffect, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/session.ts';
import { useTexts } from '../texts/texts.ts';
import { MAX_BROKERS, searchBrokers } from './broker-search.ts';
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
  /** Number of brokers of the viewer, and of those that were searched for clients, accounts and topics. */
  readonly numBrokers: number;
  readonly numSearched: number;
}

/** Screens, projects and brokers at once; clients, accounts and topics when the brokers respond. */
export function useSearch(term: string): Search {
  const text = useTexts(searchTexts);
  const { isRootAdmin } = useViewer();
  const { data, error } = useQuery(PLACES, {});
  const [remote, setRemote] = useState<{ readonly found: readonly Found[]; readonly isBusy: boolean }>({
    found: [],
    isBusy: false,
  });
  const projects = data?.projects.nodes ?? [];
  const brokers = projects.flatMap((project) =>
    project.brokers.nodes.map(({ id, name }) => ({ id, name, project: project.name })),
  );
  const numBrokers = brokers.length;
  const isLongEnough = term.length >= MIN_LENGTH;
  useEffect(() => {
    setRemote({ found: [], isBusy: isLongEnough && numBrokers > 0 });
    if (!isLongEnough || numBrokers === 0) return;
    const end = new AbortController();
    const add = (more: readonly Found[]) => setRemote(({ found }) => ({ found: [...found, ...more], isBusy: true }));
    const run = async () => {
      await searchBrokers(brokers, term, add, end.signal);
      if (!end.signal.aborted) setRemote(({ found }) => ({ found, isBusy: false }));
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
  return {
    found: [...places.filter(({ name }) => contains(name, term)), ...remote.found],
    isBusy: (data === null && error === null) || remote.isBusy,
    error,
    numBrokers,
    numSearched: isLongEnough ? Math.min(numBrokers, MAX_BROKERS) : 0,
  };
}
