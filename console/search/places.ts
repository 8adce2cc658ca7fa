import { useMemo } from 'react';
import { accessAddress } from '../access/addresses.ts';
import { brokerTexts } from '../broker/texts.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { projectTexts } from '../project/texts.ts';
import type { common } from '../texts/common.ts';
import { useLanguage, useTexts } from '../texts/texts.ts';
import { brokerAddress, contains, type Found, hasWords, type Kind, projectAddress, ranked } from './found.ts';
import { searchTexts } from './texts.ts';

const BROKER = graphql(`fragment PlaceBroker on Broker @_unmask {
  id
  name
  viewerCanCreateStreams
  viewerCanChangeAccessControl
}`);

export const PLACES = graphql(
  `query SearchPlaces {
  projects(first: 100) {
    nodes {
      id
      name
      viewerCanAddBrokers
      viewerCanCreateTokens
      viewerCanCreateCertificates
      viewerCanManageNotifications
      viewerCanReadAudit
      viewerCanSilenceProblems
      brokers(first: 50) { totalCount nodes { ...PlaceBroker } }
      certificates(first: 20) { nodes { filename } }
      tokens { name }
    }
  }
}`,
  [BROKER],
);

/** The brokers of a project with more of them. */
export const MORE_BROKERS = graphql(
  `query SearchBrokers($id: ID!) {
  project(id: $id) { id brokers(first: 5000, offset: 50) { nodes { ...PlaceBroker } } }
}`,
  [BROKER],
);

export type PlaceBroker = ResultOf<typeof BROKER>;
type Listed = ResultOf<typeof PLACES>['projects']['nodes'][number];
export type Project = Omit<Listed, 'brokers'> & { readonly brokers: readonly PlaceBroker[] };

interface Screen<Key> {
  readonly key: Key;
}

/** The screens of brokers and projects. The first ones have the addresses of the broker and the project. */
export interface Screens {
  readonly ofBroker: readonly Screen<keyof typeof brokerTexts.en | keyof typeof common>[];
  readonly ofProject: (project: Project) => readonly Screen<keyof typeof projectTexts.en | keyof typeof common>[];
}

interface Places {
  /** Found by a part of the name. */
  readonly named: readonly Found[];
  /** Screens and actions of brokers and projects, found by words of both names. */
  readonly screens: readonly Found[];
}

/** Everything that the page knows without asking a broker. */
export function usePlaces(projects: readonly Project[], isRootAdmin: boolean, all: Screens): Places {
  const text = useTexts(searchTexts);
  const brokerText = useTexts(brokerTexts);
  const projectText = useTexts(projectTexts);
  const language = useLanguage();
  const one = (kind: Kind, name: string, address: string, of: string | null = null) => ({ kind, name, of, address });
  const screensOf = (project: Project): readonly Found[] => {
    const address = projectAddress(project.id);
    const action = (isOffered: boolean, name: string, path: string, of = project.name) =>
      isOffered ? [one('action', name, path, of)] : [];
    return [
      ...all
        .ofProject(project)
        .map(({ key }, index) =>
          one('screen', projectText(key), index === 0 ? address : `${address}/${key}`, project.name),
        ),
      ...action(project.viewerCanAddBrokers, text('addBroker'), `/?new=${project.id}`),
      ...action(project.viewerCanSilenceProblems, text('silenceProblems'), `${address}/silences?new=silence`),
      ...action(project.viewerCanCreateTokens, text('createToken'), `${address}/tokens?new=token`),
      ...action(project.viewerCanCreateCertificates, text('upload'), `${address}/certificates?new=certificate`),
      ...project.brokers.flatMap(({ id, name: of, ...may }) => [
        ...all.ofBroker.map(({ key }, index) =>
          one('screen', brokerText(key), index === 0 ? brokerAddress(id) : `${brokerAddress(id)}/${key}`, of),
        ),
        ...action(may.viewerCanCreateStreams, text('createStream'), `${brokerAddress(id)}/streams?new=stream`, of),
        ...action(
          may.viewerCanChangeAccessControl,
          text('giveAccess'),
          accessAddress(id, 'accounts', { new: 'device' }),
          of,
        ),
      ]),
    ];
  };
  const namedOf = (project: Project): readonly Found[] => {
    const address = projectAddress(project.id);
    const silence = (query: string) =>
      project.viewerCanSilenceProblems && { acts: { silence: `${address}/silences?new=silence${query}` } };
    return [
      { ...one('project', project.name, address), ...silence('') },
      ...project.brokers.map(({ id, name }) => ({
        ...one('broker', name, brokerAddress(id), project.name),
        ...silence(`&broker=${id}`),
      })),
      ...(project.certificates?.nodes ?? []).map(({ filename }) =>
        one('certificate', filename, `${address}/certificates?search=${encodeURIComponent(filename)}`, project.name),
      ),
      ...project.tokens.map(({ name }) => one('token', name, `${address}/tokens`, project.name)),
    ];
  };
  return useMemo(
    () => ({
      named: [
        one('screen', text('fleet'), '/'),
        ...(isRootAdmin
          ? [
              ...(['audit', 'people', 'notifications', 'service'] as const).map((key) =>
                one('screen', text(key), `/${key}`),
              ),
              one('action', text('invite'), '/people?new=invite'),
            ]
          : []),
        one('screen', text('organizations'), '/organizations'),
        one('screen', text('ownAccount'), '/account'),
        one('screen', text('explorer'), '/explorer'),
        one('action', text('createProject'), '/?new=project'),
        ...projects.flatMap(namedOf),
      ],
      screens: projects.flatMap(screensOf),
    }),
    [projects, isRootAdmin, language],
  );
}

/** Screens of brokers that are shown: with 200 brokers, a short word would find thousands. */
const MAX_SCREENS = 10;
const EMAIL = /^(.+?)\s+(\S+@\S+)$/;

export function foundIn({ named, screens }: Places, term: string): readonly Found[] {
  // "invite vera@example.com"
  const [, words = '', email = ''] = EMAIL.exec(term) ?? [];
  const isInvitation = ({ address, name }: Found) => address.endsWith('new=invite') && hasWords(name, words);
  return [
    ...named.filter(({ name, kind }) => contains(name, term) || (kind === 'action' && hasWords(name, term))),
    ...(words === '' ? [] : named.filter(isInvitation)).map((one) => ({
      ...one,
      of: email,
      address: `${one.address}&email=${encodeURIComponent(email)}`,
    })),
    ...(term === ''
      ? []
      : ranked(
          screens.filter(({ name, of }) => hasWords(`${of} ${name}`, term)),
          term,
        ).slice(0, MAX_SCREENS)),
  ];
}
