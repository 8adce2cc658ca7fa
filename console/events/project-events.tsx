import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { isFirst } from '../ui/pager.tsx';
import { useWantedEvents } from './event-filter.ts';
import { PROJECT_EVENTS } from './event-graph.ts';
import { EventList } from './event-list.tsx';
import { eventTexts } from './texts.ts';

/** Each reading searches all brokers of the project, so it is less frequent than that of one. */
const EVENTS_MS = 5_000;

/** What happened to the clients of all brokers of a project. */
export function ProjectEvents() {
  const text = useTexts(eventTexts);
  const { id, viewerCanReadAudit } = useProject();
  const wanted = useWantedEvents();
  const variables = { id, ...wanted.variables };
  const { data, error } = useQuery(PROJECT_EVENTS, variables, isFirst(wanted.cursor) ? EVENTS_MS : null);
  return (
    <EventList
      label={text('events')}
      of="PROJECT"
      page={data?.project?.clientEvents ?? null}
      error={error}
      canReadAudit={viewerCanReadAudit}
      isFollowed={true}
      wanted={wanted}
      document={PROJECT_EVENTS}
      variables={variables}
    />
  );
}
