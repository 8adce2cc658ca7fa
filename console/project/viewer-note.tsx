import { useContext } from 'react';
import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { type Project, ProjectContext } from './project-context.ts';
import type { Role } from './role-select.tsx';
import { viewerNoteTexts } from './viewer-note-texts.ts';

interface ViewerNoteProps {
  readonly role: Role | null;
  /** Default: the project whose screens are shown. */
  readonly project?: Pick<Project, 'id' | 'settings'> | undefined;
}

/** What viewers may change in a project, where a user gets the role. Nothing with strict roles or another role. */
export function ViewerNote({ role, project }: ViewerNoteProps) {
  const text = useTexts(viewerNoteTexts);
  const shown = useContext(ProjectContext)?.project;
  const { id, settings } = project ?? shown ?? {};
  if (role !== 'VIEWER' || settings?.hasStrictRoles !== false) return null;
  return (
    <p className="note">
      {text('mayChange')} <Link href={`/projects/${id}`}>{text('toStrict')}</Link>
    </p>
  );
}
