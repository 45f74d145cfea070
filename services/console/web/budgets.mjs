// Limits for sizes with gzip, in kB of 1,000 bytes. The build fails above them.
export const FIRST_LOAD = 120 // scripts and styles until a person has signed in and sees Ask
export const RAG = 60 // all that the console of ziggurat-rag loads, but for fonts
export const FONTS = 60 // for Latin, without compression: they are compressed
export const CHUNKS = {
  'screens/sql/sql.tsx': 185,
  'screens/schema/schema.tsx': 35,
  'parts/chart/chart.tsx': 30,
  'screens/tools/tools.tsx': 25,
  'screens/search/search.tsx': 25,
  'screens/activity/activity.tsx': 25,
  'screens/admin/admin.tsx': 25,
}

// Screens that belong to the first load.
export const FIRST_SCREENS = ['screens/sign-in/sign-in.tsx', 'screens/ask/ask.tsx']
