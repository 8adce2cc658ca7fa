import { Link } from 'wouter';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';
import { auditTexts } from './texts.ts';

/** The caller; for a token also the person who issued it. */
export function Who({ entry }: { readonly entry: Entry }) {
  const text = useTexts(auditTexts);
  const { isRootAdmin } = useViewer();
  const { actorKind, actorId, actorName, actorIssuer, project } = entry;
  if (actorName === null) return text(actorKind);
  if (actorKind === 'USER' && isRootAdmin && actorId !== null)
    return <Link href={`/people/${actorId}`}>{actorName}</Link>;
  if (actorKind !== 'TOKEN') return actorName;
  const name = text('tokenNamed', { name: actorName });
  return (
    <>
      {project ? <Link href={`/projects/${project.id}/tokens`}>{name}</Link> : name}
      {actorIssuer !== null && <small> {text('issuedBy', { issuer: actorIssuer })}</small>}
    </>
  );
}
