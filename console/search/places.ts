import { brokerTexts } from '../broker/texts.ts';
import { projectTexts } from '../project/texts.ts';
import { useTexts } from '../texts/texts.ts';
import { brokerAddress, contains, type Found, hasWords, projectAddress } from './found.ts';
import { searchTexts } from './texts.ts';

interface Project {
  readonly id: string;
  readonly name: string;
  readonly brokers: { readonly nodes: readonly { readonly id: string; readonly name: string }[] };
  readonly certificates: { readonly nodes: readonly { readonly id: string; readonly filename: string }[] } | null;
}

interface PlacesOptions {
  readonly projects: readonly Project[];
  readonly isRootAdmin: boolean;
}

/** In the order of the menus, without the first one, which has the address of the broker or project itself. */
const OF_BROKER = [
  'clients',
  'events',
  'topics',
  'messages',
  'access',
  'why',
  'streams',
  'bridges',
  'refusals',
] as const;
const OF_PROJECT = [
  'problems',
  'silences',
  'notifications',
  'members',
  'tokens',
  'rules',
  'passwords',
  'certificates',
  'clusters',
  'events',
  'audit',
] as const;

interface Places {
  /** Found by a part of the name. */
  readonly named: readonly Found[];
  /** Screens of brokers and projects, found by words of both names. */
  readonly screens: readonly Found[];
}

/** Everything that the page knows without asking a broker. */
export function usePlaces({ projects, isRootAdmin }: PlacesOptions): Places {
  const text = useTexts(searchTexts);
  const brokerText = useTexts(brokerTexts);
  const projectText = useTexts(projectTexts);
  const screen = (name: string, address: string): Found => ({ kind: 'screen', name, of: null, address });
  const brokers = projects.flatMap((project) =>
    project.brokers.nodes.map(({ id, name }) => ({ id, name, projectId: project.id, project: project.name })),
  );
  return {
    named: [
      screen(text('fleet'), '/'),
      ...(isRootAdmin
        ? [
            screen(text('audit'), '/audit'),
            screen(text('people'), '/people'),
            screen(text('notifications'), '/notifications'),
            screen(text('service'), '/service'),
          ]
        : []),
      screen(text('organizations'), '/organizations'),
      screen(text('ownAccount'), '/account'),
      screen(text('explorer'), '/explorer'),
      ...projects.map(({ id, name }) => ({ kind: 'project' as const, name, of: null, address: projectAddress(id) })),
      ...brokers.map(({ id, name, projectId, project: of }) => ({
        kind: 'broker' as const,
        name,
        of,
        address: brokerAddress(id),
        acts: { silence: `${projectAddress(projectId)}/silences?broker=${id}` },
      })),
      ...projects.flatMap(({ id, name: of, certificates }) =>
        (certificates?.nodes ?? []).map(({ filename: name }) => ({
          kind: 'certificate' as const,
          name,
          of,
          address: `${projectAddress(id)}/certificates`,
        })),
      ),
    ],
    screens: [
      ...brokers.flatMap(({ id, name: of }) =>
        OF_BROKER.map((key) => ({ ...screen(brokerText(key), `${brokerAddress(id)}/${key}`), of })),
      ),
      ...projects.flatMap(({ id, name: of }) =>
        OF_PROJECT.map((key) => ({ ...screen(projectText(key), `${projectAddress(id)}/${key}`), of })),
      ),
    ],
  };
}

/** Screens of brokers that are shown: with 200 brokers, a short word would find thousands. */
const MAX_SCREENS = 10;

export const foundIn = ({ named, screens }: Places, term: string): readonly Found[] => [
  ...named.filter(({ name }) => contains(name, term)),
  ...(term === '' ? [] : screens.filter(({ name, of }) => hasWords(`${of} ${name}`, term)).slice(0, MAX_SCREENS)),
];
