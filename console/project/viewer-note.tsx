import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { useProject } from './project-context.ts';
import type { Role } from './role-select.tsx';
import { viewerNoteTexts } from './viewer-note-texts.ts';

/** What viewers may change in this project, where a user gets the role. Nothing with strict roles or another role. */
export function ViewerNote({ role }: { readonly role: Role | null }) {
  const text = useTexts(viewerNoteTexts);
  const { id, settings } = useProject();
  if (role !== 'VIEWER' || settings?.hasStrictRoles !== false) return null;
  return (
    <p className="note">
      {text('mayChange')} <Link href={`/projects/${id}`}>{text('toStrict')}</Link>
    </p>
  );
}
