/** Names of the screens. Apart from the texts of the screens, which come with their chunks. */
export const titles = {
  ask: 'Ask',
  sql: 'SQL',
  schema: 'Schema',
  search: 'Search',
  tools: 'Tools',
  activity: 'Activity',
  admin: 'Admin',
}
